import type { ComputerSize, ErrorCode } from "@holdfast/contract";
import type { Generated } from "kysely";

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
    state: "creating" | "awake" | "asleep" | "stopped" | "failed" | "destroyed";
    desired_state: "awake" | "asleep" | "stopped" | "destroyed";
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
