import type { ComputerSize, ErrorCode } from "@holdfast/contract";
import type { Generated } from "kysely";
import type { Cause } from "../../domain/computer.ts";

/** Owned by `computers/` and `work/`. What the columns mean stands in `migrations/0010_computers.sql`. */
export interface ComputerTables {
  computers: {
    id: string;
    account_id: string;
    node_id: string;
    /** The assistant or owner it belongs to. */
    principal_id: string;
    name: string;
    description: string;
    size: ComputerSize;
    environment: Readonly<Record<string, string>>;
    state: "creating" | "awake" | "asleep" | "stopped" | "archived" | "failed" | "destroyed";
    desired_state: "awake" | "asleep" | "stopped" | "archived" | "destroyed";
    desired_cause: Generated<Cause>;
    reason: string | null;
    failure_code: ErrorCode | null;
    attempts: Generated<number>;
    crashes: Generated<number>;
    image: string | null;
    cell_id: string | null;
    applied_size: ComputerSize | null;
    services_revision: Generated<number>;
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
    awake_since_ms: number | null;
    /** From here on: `migrations/0030_lifecycle.sql`. */
    sleep_after_ms: Generated<number | null>;
    stop_after_ms: Generated<number | null>;
    archive_after_ms: Generated<number>;
    keep_awake: Generated<boolean>;
    keep_hourly: Generated<number>;
    keep_daily: Generated<number>;
    keep_weekly: Generated<number>;
    active_at_ms: Generated<number>;
    state_since_ms: Generated<number>;
    expires_at_ms: Generated<number | null>;
    parent_id: Generated<string | null>;
    delegator_id: Generated<string | null>;
    origin_snapshot_id: Generated<string | null>;
    identity_due: Generated<boolean>;
    filling: Generated<boolean>;
    restore_snapshot_id: Generated<string | null>;
    restore_id: Generated<string | null>;
    restore_definitions: Generated<boolean>;
    restore_then: Generated<"awake" | "asleep" | "stopped" | null>;
    archive_digest: Generated<string | null>;
    archive_bytes: Generated<number | null>;
  };
  holds: {
    id: string;
    computer_id: string;
    principal_id: string;
    reason: string;
    process_id: string | null;
    taken_at_ms: number;
    expires_at_ms: number;
  };
  throwaways: {
    computer_id: string;
    node_id: string;
    purpose: string;
    created_at_ms: number;
  };
  processes: {
    id: string;
    computer_id: string;
    /** The cell it runs in; until it is known to run, the one that was there (awake or asleep) when it was admitted. */
    cell_id: string | null;
    operation_id: string;
    principal_id: string;
    command: string;
    terminal: boolean;
    stdin_open: boolean;
    state: "starting" | "running" | "ended";
    exit: StoredExit | null;
    timed_out: Generated<boolean>;
    out_of_memory: Generated<boolean>;
    background: Generated<boolean>;
    started_at_ms: number;
    ended_at_ms: number | null;
    output_bytes: Generated<number>;
    dropped_bytes: Generated<number>;
    keep_awake: Generated<boolean>;
  };
  services: {
    id: string;
    computer_id: string;
    name: string;
    definition: Readonly<Record<string, unknown>>;
    base_environment: Readonly<Record<string, string>>;
    desired_state: "running" | "stopped";
    told_state: Generated<string>;
    /** The project that it is part of; null: of the computer alone. */
    project_id: Generated<string | null>;
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
  };
}

export type StoredExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number }
  | { readonly kind: "lost" };
