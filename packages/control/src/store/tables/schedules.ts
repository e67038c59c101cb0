import type { Generated } from "kysely";
import type { StoredExit } from "./computers.ts";

/** What a schedule runs: exactly one of `command` and `argv`. */
export interface StoredCommand {
  readonly command?: string | undefined;
  readonly argv?: readonly string[] | undefined;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number };
}

/** What a run keeps of its schedule as it was when the run was made. */
export interface RunDefinition {
  readonly command: StoredCommand;
  readonly timeout_ms: number;
  readonly retries: number;
  readonly retry_backoff_ms: number;
  readonly place: "computer" | "fork";
}

/** Owned by `schedules/`. What the columns mean stands in `migrations/0031_schedules.sql`. */
export interface ScheduleTables {
  schedules: {
    id: string;
    account_id: string;
    computer_id: string;
    project_id: string | null;
    name: string;
    created_by: string;
    state: "active" | "paused" | "ended" | "deleted";
    cron: string | null;
    every_ms: number | null;
    at_ms: number | null;
    event: boolean;
    anchor_ms: number;
    time_zone: string;
    command: StoredCommand;
    timeout_ms: number;
    missed: "skip" | "run_once" | "run_each";
    missed_most: number;
    overlap: "skip" | "queue" | "replace";
    retries: number;
    retry_backoff_ms: number;
    retries_per_day: number;
    retry_day: Generated<number>;
    retries_used: Generated<number>;
    place: "computer" | "fork";
    next_slot_ms: number | null;
    claimed_at_ms: Generated<number>;
    event_key_hash: Buffer | null;
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
  };
  runs: {
    id: string;
    schedule_id: string;
    account_id: string;
    computer_id: string;
    principal_id: string;
    cause: "slot" | "missed" | "manual" | "event";
    slot_ms: number | null;
    state: "queued" | "running" | "waiting_to_retry" | "succeeded" | "failed" | "skipped" | "cancelled";
    reason: string | null;
    attempt: Generated<number>;
    process_id: string | null;
    exit: Generated<StoredExit | null>;
    timed_out: Generated<boolean>;
    woke: Generated<"asleep" | "stopped" | "archived" | null>;
    fork_id: Generated<string | null>;
    fork_gone: Generated<boolean>;
    input: string | null;
    definition: RunDefinition | null;
    cancel_reason: Generated<string | null>;
    retry_at_ms: Generated<number | null>;
    output_bytes: Generated<number>;
    kept_output: Generated<string | null>;
    created_at_ms: number;
    started_at_ms: Generated<number | null>;
    ended_at_ms: number | null;
  };
}
