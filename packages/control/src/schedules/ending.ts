import type { AgentProcessState } from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { ProcessRow } from "../store/processes.ts";
import { endRun, giveTurn, retryRun, type RunEnd, type RunRow } from "../store/runs.ts";
import { lockSchedule, spendRetry } from "../store/schedules.ts";
import type { StoredExit } from "../store/tables/computers.ts";
import type { Store } from "../store/transaction.ts";
import { exitView, type ProcessKeeper, seenOf } from "../work/index.ts";
import { runEvent } from "./events.ts";
import { retryOf } from "./retry.ts";
import type { Together } from "./together.ts";

export interface EndingParts {
  readonly store: Store;
  /** Where starts, and where ends, are written down. */
  readonly starts: Together;
  readonly ends: Together;
  readonly keeper: ProcessKeeper;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface Ended {
  /** The run as it is now: ended, or waiting for its next attempt. Undefined when somebody else has ended it. */
  readonly run: RunRow | undefined;
  /** The one whose turn it is by that. */
  readonly next: RunRow | undefined;
}

/** How an attempt ended, from what is known of its process. `exit` null: none was started. */
export const endOf = (
  run: RunRow,
  seen: {
    readonly exit: StoredExit | null;
    readonly timedOut: boolean;
    readonly outOfMemory: boolean;
    readonly outputBytes: number;
    /** Why it was not started. */
    readonly refusal?: string;
  },
  keptOutput: string | null,
  nowMs: number,
): RunEnd => {
  const well = seen.exit?.kind === "exited" && seen.exit.code === 0 && !seen.timedOut;
  const cancelled = run.cancel_reason !== null && !well;
  return {
    state: well ? "succeeded" : cancelled ? "cancelled" : "failed",
    reason: well ? null : cancelled ? run.cancel_reason : reasonOf(run, seen),
    exit: seen.exit,
    timedOut: seen.timedOut,
    outputBytes: seen.outputBytes,
    keptOutput,
    endedAtMs: nowMs,
  };
};

const reasonOf = (run: RunRow, seen: Parameters<typeof endOf>[1]): string => {
  if (seen.refusal !== undefined) return seen.refusal;
  if (seen.timedOut) return `it took longer than ${run.definition?.timeout_ms ?? 0} ms and was ended`;
  if (seen.outOfMemory) return "it ran out of memory";
  const exit = exitView(seen.exit);
  if (exit?.kind === "exited") return `it exited with code ${exit.code}`;
  if (exit?.kind === "signaled") return `it was ended by SIG${exit.name}`;
  return "its computer stopped before its end was seen";
};

/** Its process as the agent shows it, and the row that lists it. */
export interface SeenProcess {
  readonly computer: Computer;
  readonly row: ProcessRow;
  readonly state: AgentProcessState;
}

/**
 * Writes down the end of an attempt: of the process, and of the run or of this try of it, and gives the turn to the run that waits. One
 * transaction, under the lock of the schedule.
 */
export const endAttempt = async (
  parts: EndingParts,
  run: RunRow,
  end: RunEnd,
  owner: string,
  seen?: SeenProcess,
): Promise<Ended> => {
  const { ends, keeper, events, ids, clock, crashPoint } = parts;
  crashPoint("run-before-ended");
  const ended = await ends.run(async (transaction): Promise<Ended> => {
    const schedule = await lockSchedule(transaction, run.schedule_id);
    if (!schedule) return { run: undefined, next: undefined };
    const retry =
      end.state === "failed" && run.definition && schedule.state !== "deleted"
        ? retryOf(
            {
              retries: run.definition.retries,
              retryBackoffMs: run.definition.retry_backoff_ms,
              retriesPerDay: schedule.retries_per_day,
            },
            run.attempt,
            { day: schedule.retry_day, used: schedule.retries_used },
            clock.now(),
          )
        : null;
    const process = seen && seenOf(seen.state, seen.computer.cellId, clock.now());
    const [now] = await Promise.all([
      retry ? retryRun(transaction, run, end, retry.atMs) : endRun(transaction, run, end),
      seen && process && keeper.written(transaction, seen.computer, seen.row, process).execute(),
      retry && spendRetry(transaction, schedule.id, retry.spent),
    ]);
    if (!now || retry) return { run: now, next: undefined };
    const [next] = await Promise.all([
      giveTurn(transaction, schedule.id, ids("process")),
      events.append(transaction, runEvent(now, owner, now.state)),
    ]);
    return { run: now, next };
  });
  crashPoint("run-ended");
  return ended;
};
