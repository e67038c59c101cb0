import type { ComputerSize } from "@holdfast/contract";
import type { Generated } from "kysely";

/** Owned by `computers/` and `work/`: columns are added there as they need them. */
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
    image: string | null;
    cell_id: string | null;
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
    awake_since_ms: number | null;
  };
  processes: {
    id: string;
    computer_id: string;
    cell_id: string | null;
    operation_id: string;
    principal_id: string;
    command: string;
    terminal: boolean;
    state: "starting" | "running" | "ended";
    exit: Readonly<Record<string, unknown>> | null;
    timed_out: Generated<boolean>;
    out_of_memory: Generated<boolean>;
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
    desired_state: "running" | "stopped";
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
  };
}
