import type { NewEvent } from "../domain/events.ts";
import { timestampOrNull } from "../lib/timestamp.ts";
import type { RunRow } from "../store/runs.ts";
import type { ScheduleRow } from "../store/schedules.ts";

export const scheduleEvent = (
  row: Pick<ScheduleRow, "id" | "account_id" | "computer_id" | "name">,
  visibleTo: string,
  kind: string,
  data: NewEvent["data"] = {},
): NewEvent => ({
  accountId: row.account_id,
  kind: `schedule.${kind}`,
  target: row.id,
  computerId: row.computer_id,
  visibleTo,
  data: { name: row.name, ...data },
});

/** `run.started`, and later that it ended: `run.succeeded`, `run.failed`, `run.skipped` or `run.cancelled`. */
export const runEvent = (
  run: Pick<
    RunRow,
    "id" | "account_id" | "computer_id" | "schedule_id" | "cause" | "slot_ms" | "reason" | "exit" | "attempt"
  >,
  visibleTo: string,
  kind: string,
): NewEvent => ({
  accountId: run.account_id,
  kind: `run.${kind}`,
  target: run.id,
  computerId: run.computer_id,
  visibleTo,
  data: {
    schedule: run.schedule_id,
    cause: run.cause,
    slot: timestampOrNull(run.slot_ms),
    attempt: run.attempt,
    ...(run.reason === null ? {} : { reason: run.reason }),
    ...(run.exit === null ? {} : { exit: run.exit }),
  },
});
