import type { OperationOutput } from "@holdfast/contract";
import { timestamp, timestampOrNull } from "../lib/timestamp.ts";
import type { RunRow } from "../store/runs.ts";
import type { ScheduleRow } from "../store/schedules.ts";
import { exitView } from "../work/index.ts";
import { mannerOf } from "./definition.ts";

export type ScheduleView = OperationOutput<"schedule.get">;
export type RunView = OperationOutput<"run.get">;

export interface ScheduleSeen {
  /** Whose computer it is on: its runs have that one's rights. */
  readonly owner: string;
  readonly last: RunRow | undefined;
  /** Origin of the API. */
  readonly address: URL;
}

export const scheduleView = (row: ScheduleRow, { owner, last, address }: ScheduleSeen): ScheduleView => ({
  id: row.id,
  computer: row.computer_id,
  project: row.project_id,
  name: row.name,
  state: row.state === "deleted" ? "ended" : row.state,
  cron: row.cron,
  every_ms: row.every_ms,
  at: timestampOrNull(row.at_ms),
  event: row.event,
  time_zone: row.time_zone,
  command: row.command.command ?? null,
  argv: row.command.argv === undefined ? null : [...row.command.argv],
  ...mannerOf(row),
  next_slot: timestampOrNull(row.next_slot_ms),
  last_run: last ? runView(last) : null,
  run_address: row.event ? new URL(`/v1/schedules/${row.id}/fire`, address).href : null,
  owner,
  created_at: timestamp(row.created_at_ms),
  updated_at: timestamp(row.updated_at_ms),
  version: String(row.version),
});

export const runView = (row: RunRow): RunView => ({
  id: row.id,
  schedule: row.schedule_id,
  computer: row.computer_id,
  cause: row.cause,
  slot: timestampOrNull(row.slot_ms),
  state: row.state,
  reason: row.reason,
  attempt: row.attempt,
  // Until it was handed to the computer there is no such process.
  process: row.started_at_ms === null || row.state === "queued" ? null : row.process_id,
  exit: exitView(row.exit),
  timed_out: row.timed_out,
  woke: row.woke,
  fork: row.fork_id,
  output_bytes: row.output_bytes,
  created_at: timestamp(row.created_at_ms),
  started_at: timestampOrNull(row.started_at_ms),
  ended_at: timestampOrNull(row.ended_at_ms),
  duration_ms:
    row.started_at_ms === null || row.ended_at_ms === null
      ? null
      : Math.max(0, row.ended_at_ms - row.started_at_ms),
});
