import { HoldfastError, type OperationOutput } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import type { NewEvent } from "../domain/events.ts";
import { timestamp } from "../lib/timestamp.ts";
import type { SnapshotRow } from "../store/snapshots.ts";

export type SnapshotView = OperationOutput<"snapshot.create">;

export const snapshotView = (row: SnapshotRow): SnapshotView => ({
  id: row.id,
  computer: row.computer_id,
  name: row.name,
  note: row.note,
  kind: row.kind === "passing" ? "manual" : row.kind,
  services: row.services,
  projects: row.projects,
  schedules: row.schedules,
  taken_by: row.principal_id,
  taken_at: timestamp(row.taken_at_ms),
  sync_ms: row.sync_ms,
});

/** `kind` is the second word: `taken` tells `snapshot.taken`. */
export const snapshotEvent = (
  computer: Pick<Computer, "id" | "accountId" | "principalId" | "name">,
  row: Pick<SnapshotRow, "id" | "name" | "kind">,
  kind: string,
  data: NewEvent["data"] = {},
): NewEvent => ({
  accountId: computer.accountId,
  kind: `snapshot.${kind}`,
  target: row.id,
  computerId: computer.id,
  visibleTo: computer.principalId,
  data: { name: row.name, snapshot_kind: row.kind, computer: computer.name, ...data },
});

export const noSnapshot = (computer: Pick<Computer, "name">, ref: string): HoldfastError =>
  new HoldfastError("not_found", `there is no snapshot ${ref} of ${computer.name}`, { snapshot: ref });
