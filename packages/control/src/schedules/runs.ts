import {
  HoldfastError,
  idPattern,
  limits,
  type OperationOutput,
  type OperationParams,
} from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Principal } from "../domain/principal.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { getComputer } from "../store/computers.ts";
import { findRun, listRuns } from "../store/run-history.ts";
import { cancelRuns, countActive, insertRuns, isActive, type RunRow } from "../store/runs.ts";
import { mayRun, type ScheduleRow } from "../store/schedules.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import type { Processes } from "../work/index.ts";
import { newRun, notStanding, stillGoesOn, tooManyWait } from "./claim.ts";
import { runEvent } from "./events.ts";
import type { Runner } from "./runner.ts";
import type { Schedules } from "./schedules.ts";
import { type RunView, runView } from "./view.ts";

export interface RunsParts {
  readonly db: Database;
  readonly schedules: Schedules;
  readonly runner: Runner;
  readonly computers: Computers;
  readonly processes: Processes;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
}

export interface AdmittedRun {
  readonly target: string;
  readonly run: RunRow;
}

/** What callers ask of runs. Those they make are written down at admission, and run whatever becomes of the caller. */
export class Runs {
  readonly #parts: RunsParts;

  constructor(parts: RunsParts) {
    this.#parts = parts;
  }

  /** By hand, with the caller's rights. It neither takes a slot's place nor is taken for one: only where runs queue it takes its turn. */
  async byHand(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.run">,
  ): Promise<AdmittedRun> {
    const { schedules } = this.#parts;
    const schedule = await schedules.find(transaction, principal, params, { lock: true });
    const { active, manual, waiting } = await countActive(transaction, schedule.id);
    if (manual >= limits.runsQueued || waiting >= limits.runsQueued) throw this.#tooMany(schedule);
    const waits = schedule.overlap === "queue" && active + manual > 0;
    const run = await this.#insert(transaction, schedule, {
      principal_id: principal.id,
      cause: "manual",
      state: "queued",
      reason: null,
      turn: !waits,
      input: null,
    });
    return { target: run.id, run };
  }

  /** By an event, with the rights of whose computer it is. The schedule's row is locked. */
  async byEvent(transaction: Transaction, schedule: ScheduleRow, payload: unknown): Promise<AdmittedRun> {
    const { clock } = this.#parts;
    const computer = await getComputer(transaction, schedule.computer_id);
    const principalId = computer?.principalId ?? schedule.created_by;
    const { active, waiting } = await countActive(transaction, schedule.id);
    if (waiting >= limits.runsQueued) throw this.#tooMany(schedule);
    const input = payload === undefined ? null : JSON.stringify(payload);
    if (input !== null && Buffer.byteLength(input) > limits.eventBodyBytes)
      throw new HoldfastError("invalid_input", `payload: more than ${limits.eventBodyBytes} bytes`, {
        limit: limits.eventBodyBytes,
        issues: [{ path: ["payload"], message: "put it where the command can fetch it" }],
      });
    const reason =
      schedule.state === "paused"
        ? "its schedule is paused"
        : !(await mayRun(transaction, principalId, clock.now()))
          ? notStanding
          : active > 0 && schedule.overlap === "skip"
            ? stillGoesOn
            : null;
    if (reason === null && active > 0 && schedule.overlap === "replace")
      await cancelRuns(transaction, { schedules: [schedule.id] }, "a later run took its place");
    const run = await this.#insert(transaction, schedule, {
      principal_id: principalId,
      cause: "event",
      state: reason === null ? "queued" : "skipped",
      reason,
      turn: reason === null && active === 0,
      input: reason === null ? input : null,
    });
    return { target: run.id, run };
  }

  /** After its admission is committed. */
  begin({ run }: AdmittedRun): void {
    const { runner } = this.#parts;
    runner.made(run.schedule_id);
    // What it takes the place of, or waits for, is looked at too.
    if (run.process_id === null) runner.look();
    else runner.take(run);
  }

  /** Waits for its end, at most `waitMs`. */
  async ended(id: string, waitMs: number, signal: AbortSignal): Promise<RunView> {
    const run = await this.#parts.runner.settled(id, waitMs, signal);
    if (!run) throw noRun(id);
    return runView(run);
  }

  async list(
    principal: Principal,
    params: OperationParams<"run.list">,
  ): Promise<{ readonly output: OperationOutput<"run.list">; readonly target: string | null }> {
    const { db, schedules, computers } = this.#parts;
    const computer =
      params.computer === undefined ? undefined : await computers.find(principal, params.computer);
    const schedule =
      params.schedule === undefined
        ? undefined
        : await schedules.find(db, principal, {
            schedule: params.schedule,
            ...(computer ? { computer: computer.id } : {}),
          });
    const found = await listRuns(db, {
      principal,
      scheduleId: schedule?.id,
      computerId: schedule ? undefined : computer?.id,
      failed: params.failed === true,
      before: decodeCursor(params.cursor, idPattern("run")),
      limit: params.limit + 1,
    });
    const page = pageOf(found, params.limit, (row) => row.id);
    return {
      output: { runs: page.rows.map(runView), next_cursor: page.nextCursor },
      target: schedule?.id ?? computer?.id ?? null,
    };
  }

  /** Throws `not_found`, also for what the principal may not see. */
  async get(principal: Principal, params: OperationParams<"run.get">, signal: AbortSignal): Promise<RunView> {
    const run = await this.#find(principal, params.run);
    return params.wait_ms === 0 || !isActive(run) ? runView(run) : this.ended(run.id, params.wait_ms, signal);
  }

  async output(
    principal: Principal,
    params: OperationParams<"run.output">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"run.output">> {
    const { db, processes } = this.#parts;
    const run = await this.#find(principal, params.run);
    if (run.kept_output !== null || (run.fork_id !== null && !isActive(run))) return keptPage(run, params);
    const computer = await getComputer(db, run.fork_id ?? run.computer_id);
    if (run.process_id === null || run.started_at_ms === null || run.state === "queued" || !computer)
      return { text: "", next_cursor: params.cursor, more: false, truncated_bytes: 0 };
    const page = await processes.output(
      computer,
      {
        computer: computer.id,
        process: run.process_id,
        cursor: params.cursor,
        max_bytes: params.max_bytes,
        wait_ms: 0,
        encoding: "text",
        merge: true,
      },
      signal,
    );
    return {
      text: page.stdout,
      next_cursor: page.next_cursor,
      more: page.more,
      truncated_bytes: page.truncated_bytes,
    };
  }

  /** Cancelling one that has ended is fine. */
  async cancel(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"run.cancel">,
  ): Promise<AdmittedRun> {
    const run = await this.#find(principal, params.run, transaction);
    const [cancelled] = await cancelRuns(
      transaction,
      { id: run.id },
      `it was cancelled by ${principal.name}`,
    );
    return { target: run.id, run: cancelled ?? run };
  }

  /** Waits a while until it has ended; it goes on to its end without the caller. */
  async finishCancel({ run }: AdmittedRun, signal: AbortSignal): Promise<RunView> {
    this.#parts.runner.take(run);
    return this.ended(run.id, cancelWaitMs, signal);
  }

  async #insert(
    transaction: Transaction,
    schedule: ScheduleRow,
    {
      turn,
      ...made
    }: Pick<RunRow, "principal_id" | "cause" | "state" | "reason" | "input"> & {
      readonly turn: boolean;
    },
  ): Promise<RunRow> {
    const { ids, clock, events } = this.#parts;
    const nowMs = clock.now();
    const skipped = made.state === "skipped";
    const fresh = newRun(ids("run"), schedule, nowMs);
    const [run] = await insertRuns(transaction, [
      {
        ...fresh,
        ...made,
        slot_ms: null,
        process_id: turn ? ids("process") : null,
        ended_at_ms: skipped ? nowMs : null,
        definition: skipped ? null : fresh.definition,
      },
    ]);
    if (!run) throw new Error("a run without a slot is always written");
    if (skipped) {
      const computer = await getComputer(transaction, schedule.computer_id);
      await events.append(transaction, runEvent(run, computer?.principalId ?? run.principal_id, "skipped"));
    }
    return run;
  }

  async #find(
    principal: Principal,
    id: string,
    db: Database | Transaction = this.#parts.db,
  ): Promise<RunRow> {
    const run = await findRun(db, principal, id);
    if (!run) throw noRun(id);
    return run;
  }

  #tooMany(schedule: ScheduleRow): HoldfastError {
    return new HoldfastError("limit_reached", `${schedule.name}: ${tooManyWait}`, {
      limit: limits.runsQueued,
      counts: "runs",
      retry_after_ms: 5_000,
    });
  }
}

const cancelWaitMs = 15_000;

/** At most `most` bytes from `begin`, unless the first character has more. */
const wholeCharacters = (text: Buffer, begin: number, most: number): Buffer => {
  const continues = (at: number): boolean => ((text[at] ?? 0) & 0xc0) === 0x80;
  let end = Math.min(text.length, begin + most);
  while (end > begin && continues(end)) end -= 1;
  if (end === begin) for (end = Math.min(text.length, begin + 1); continues(end); end += 1);
  return text.subarray(begin, end);
};

const noRun = (id: string): HoldfastError =>
  new HoldfastError("not_found", `there is no run ${id}`, { run: id });

/** A page of what was kept of a run whose computer is gone: the end of its output. */
const keptPage = (
  run: RunRow,
  { cursor, max_bytes }: { readonly cursor: number; readonly max_bytes: number },
): OperationOutput<"run.output"> => {
  const kept = Buffer.from(run.kept_output ?? "");
  const first = Math.max(0, run.output_bytes - kept.length);
  const from = Math.max(cursor, first);
  const part = wholeCharacters(kept, from - first, max_bytes);
  return {
    text: part.toString("utf8"),
    next_cursor: from + part.length,
    more: from + part.length < first + kept.length,
    truncated_bytes: Math.max(0, first - cursor),
  };
};
