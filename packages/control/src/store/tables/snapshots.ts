import type { ColumnType, Generated } from "kysely";
import type { ManifestEntry } from "../../domain/trees.ts";

/** Written as JSON text: the driver would take an array for one of Postgres. */
type Json<T> = ColumnType<T, string, string>;

/** Owned by `snapshots/`. What the columns mean stands in `migrations/0032_snapshots.sql`. */
export interface SnapshotTables {
  snapshots: {
    id: string;
    account_id: string;
    computer_id: string;
    principal_id: string;
    operation_id: string | null;
    name: string;
    note: string;
    kind: "manual" | "hourly" | "daily" | "weekly" | "before_restore" | "passing";
    state: "taking" | "kept" | "deleting";
    definitions: Readonly<Record<string, unknown>>;
    services: number;
    projects: number;
    schedules: number;
    sync_ms: Generated<number>;
    taken_at_ms: number;
  };
  offers: {
    id: string;
    account_id: string;
    child_id: string;
    parent_id: string;
    snapshot_id: string;
    note: string;
    paths: Json<readonly string[]>;
    manifest: ColumnType<readonly ManifestEntry[] | null, string | null, string | null>;
    entries: Generated<number>;
    bytes: Generated<number>;
    digest: Generated<string>;
    state: "making" | "open" | "accepting" | "placing" | "accepted" | "rejected" | "withdrawn";
    operation_id: string;
    made_by: string;
    made_at_ms: number;
    decided_by: string | null;
    decided_at_ms: number | null;
    decided_note: string | null;
    project_id: string | null;
    commit: string | null;
  };
}
