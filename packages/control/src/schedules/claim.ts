import { limits } from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { EventLog, NewEvent } from "../domain/events.ts";
import { timestamp } from "../lib/timestamp.ts";
import { cancelRuns, insertRuns, type NewRun, type RunRow } from "../store/runs.ts";
import {
  type Advanced,
  advanceSlots,
  claimedLater,
  type DueSchedule,
  type ScheduleRow,
  takeDue,
} from "../store/schedules.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import { timingOf } from "./definition.ts";
import { dueOf } from "./due.ts";
import { runEvent, scheduleEvent } from "./events.ts";
import type { Timings } from "./timing.ts";

/** Schedules whose slots are turned into runs in one transaction. */
export const batch = 200;
/** A clock that is set back by more than this was wrong before: what comes next is counted anew, or it would not come for long. */
const setBackMs = 24 * 3600 * 1000;

export interface ClaimParts {
  readonly store: Store;
  readonly events: EventLog;
  readonly timings: Timings;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
}

export interface ClaimedRun {
  readonly run: RunRow;
  /** As it was when the run was made. */
  readonly computer: Computer;
}

export interface Claimed {
  readonly runs: readonly ClaimedRun[];
  /** Runs that others take the place of. */
  readonly replaced: readonly RunRow[];
  /** Computers on which a run goes on that keeps a slot from its own: if they sleep, it never ends. */
  readonly held: readonly Computer[];
  /** The schedule of each run that was written, those that were skipped too. */
  readonly of: readonly string[];
  /** There may be more. */
  readonly full: boolean;
}

/**
 * Turns slots that have come into runs: one transaction for many schedules writes the runs, with the ids of the processes they will start, and
 * what comes next. A slot is told apart by its time, so that whatever happens to the clock, or to control in between, each has one run.
 */
export const claimDue = async (parts: ClaimParts, limit = batch): Promise<Claimed> => {
  const { store, clock, crashPoint, nodeId } = parts;
  crashPoint("schedule-before-claimed");
  const claimed = await store.transaction(async (transaction) => {
    const nowMs = clock.now();
    const due = await takeDue(transaction, nodeId, nowMs, limit);
    const decided = due.map((one) => decide(parts, one, nowMs));
    const replacing = decided.filter(({ replaces }) => replaces).map(({ advanced }) => advanced.id);
    // Before the runs that take their place are there.
    const replaced = replacing.length === 0 ? [] : await cancelBefore(transaction, replacing);
    const [runs] = await Promise.all([
      insertRuns(
        transaction,
        decided.flatMap((one) => one.runs),
      ),
      advanceSlots(
        transaction,
        decided.map((one) => one.advanced),
        nowMs,
      ),
    ]);
    const computers = new Map(due.map(({ schedule, computer }) => [schedule.id, computer]));
    const told = [
      ...decided.flatMap((one) => one.told),
      ...runs
        .filter(({ state }) => state === "skipped")
        .map((run) =>
          runEvent(run, computers.get(run.schedule_id)?.principalId ?? run.principal_id, "skipped"),
        ),
    ];
    if (told.length > 0) await parts.events.append(transaction, ...told);
    return {
      runs: runs.flatMap((run) => {
        const computer = computers.get(run.schedule_id);
        return computer && run.state === "queued" ? [{ run, computer }] : [];
      }),
      replaced,
      held: due
        .filter(({ active, computer }) => active > 0 && computer.state !== "awake")
        .map(({ computer }) => computer),
      of: runs.map((run) => run.schedule_id),
      full: due.length === limit,
    };
  });
  crashPoint("schedule-claimed");
  return claimed;
};

/** Counts anew what comes next of those whose slots were claimed by a clock that was set back by more than a day since. */
export const mendSetBack = (parts: ClaimParts): Promise<void> =>
  parts.store.transaction(async (transaction) => {
    const nowMs = parts.clock.now();
    const rows = await claimedLater(transaction, nowMs + setBackMs, 1000);
    await advanceSlots(
      transaction,
      rows.map((row) => ({ id: row.id, nextMs: parts.timings.nextAfter(timingOf(row), nowMs) })),
      nowMs,
    );
  });

interface Decided {
  readonly runs: readonly NewRun[];
  readonly advanced: Advanced;
  readonly told: readonly NewEvent[];
  /** What goes on of it is to make room. */
  readonly replaces: boolean;
}

const decide = (parts: ClaimParts, due: DueSchedule, nowMs: number): Decided => {
  const { schedule, computer } = due;
  const firstMs = schedule.next_slot_ms ?? nowMs;
  const { slots, nextMs, missedSinceMs } = dueOf(parts.timings, timingOf(schedule), schedule, firstMs, nowMs);
  const advanced = { id: schedule.id, nextMs };
  if (computer.desiredState === "destroyed") return { runs: [], advanced, told: [], replaces: false };
  const told =
    missedSinceMs === null
      ? []
      : [
          scheduleEvent(schedule, computer.principalId, "missed", {
            since: timestamp(missedSinceMs),
            made_up: slots.filter(({ cause }) => cause === "missed").length,
          }),
        ];
  const placed = places(due);
  // In the order of their slots, though they are made in the same moment.
  const ids = slots.map(() => parts.ids("run")).toSorted();
  const runs = slots.map(({ slotMs, cause }, index): NewRun => {
    const place = placed(index);
    return {
      ...newRun(ids[index] ?? parts.ids("run"), schedule, nowMs),
      principal_id: computer.principalId,
      cause,
      slot_ms: slotMs,
      state: place.state,
      reason: place.reason,
      process_id: place.turn ? parts.ids("process") : null,
      ended_at_ms: place.state === "skipped" ? nowMs : null,
      definition: place.state === "skipped" ? null : runDefinition(schedule),
    };
  });
  return {
    runs,
    advanced,
    told,
    replaces: schedule.overlap === "replace" && due.active > 0 && slots.length > 0,
  };
};

interface Place {
  readonly state: "queued" | "skipped";
  readonly reason: string | null;
  readonly turn: boolean;
}

/**
 * Where the run of each of several slots that came together finds its place. They queue behind each other whatever is said of overlaps: none of
 * them goes on yet.
 */
const places = ({ schedule, active, waiting, standing }: DueSchedule): ((index: number) => Place) => {
  const skipped = (reason: string): Place => ({ state: "skipped", reason, turn: false });
  return (index) => {
    if (!standing) return skipped(notStanding);
    if (active > 0 && schedule.overlap === "skip") return skipped(stillGoesOn);
    if (waiting + index >= limits.runsQueued) return skipped(tooManyWait);
    return { state: "queued", reason: null, turn: active === 0 && index === 0 };
  };
};

export const stillGoesOn = "the run before still goes on";
export const tooManyWait = `${limits.runsQueued} runs wait already`;
export const notStanding =
  "whose computer it is has no key that may run it any more: it was revoked, has expired, or allows too little";

/** What all new runs of a schedule have. */
export const newRun = (
  id: string,
  schedule: ScheduleRow,
  nowMs: number,
): Omit<
  NewRun,
  "principal_id" | "cause" | "slot_ms" | "state" | "reason" | "process_id" | "ended_at_ms"
> => ({
  id,
  schedule_id: schedule.id,
  account_id: schedule.account_id,
  computer_id: schedule.computer_id,
  input: null,
  definition: runDefinition(schedule),
  created_at_ms: nowMs,
});

const runDefinition = (schedule: ScheduleRow): NonNullable<RunRow["definition"]> => ({
  command: schedule.command,
  timeout_ms: schedule.timeout_ms,
  retries: schedule.retries,
  retry_backoff_ms: schedule.retry_backoff_ms,
  place: schedule.place,
});

const cancelBefore = (transaction: Transaction, schedules: readonly string[]): Promise<RunRow[]> =>
  cancelRuns(transaction, { schedules }, "a later run took its place");
