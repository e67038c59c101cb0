import type { ComputerSize, ErrorCode } from "@holdfast/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import type { Computer, ComputerState, DesiredState } from "../domain/computer.ts";
import type { Tables } from "./tables/index.ts";

export type ComputerRow = Selectable<Tables["computers"]>;

export const toComputer = (row: ComputerRow): Computer => ({
  id: row.id,
  accountId: row.account_id,
  principalId: row.principal_id,
  name: row.name,
  description: row.description,
  size: row.size,
  environment: row.environment,
  state: row.state,
  desiredState: row.desired_state,
  cause: row.desired_cause,
  reason: row.reason,
  failureCode: row.failure_code,
  attempts: row.attempts,
  crashes: row.crashes,
  image: row.image,
  cellId: row.cell_id,
  appliedSize: row.applied_size,
  servicesRevision: row.services_revision,
  version: row.version,
  createdAtMs: row.created_at_ms,
  updatedAtMs: row.updated_at_ms,
  awakeSinceMs: row.awake_since_ms,
  sleepAfterMs: row.sleep_after_ms,
  stopAfterMs: row.stop_after_ms,
  archiveAfterMs: row.archive_after_ms,
  keepAwake: row.keep_awake,
  keepHourly: row.keep_hourly,
  keepDaily: row.keep_daily,
  keepWeekly: row.keep_weekly,
  activeAtMs: row.active_at_ms,
  stateSinceMs: row.state_since_ms,
  expiresAtMs: row.expires_at_ms,
  parentId: row.parent_id,
  delegatorId: row.delegator_id,
  originSnapshotId: row.origin_snapshot_id,
  identityDue: row.identity_due,
  filling: row.filling,
  restoring:
    row.restore_id === null || row.restore_snapshot_id === null
      ? null
      : {
          id: row.restore_id,
          snapshotId: row.restore_snapshot_id,
          definitions: row.restore_definitions,
          afterwards: row.restore_then ?? "stopped",
        },
  archive:
    row.archive_digest === null || row.archive_bytes === null
      ? null
      : { digest: row.archive_digest, bytes: row.archive_bytes },
});

export interface NewComputer {
  readonly id: string;
  readonly accountId: string;
  readonly nodeId: string;
  readonly principalId: string;
  readonly name: string;
  readonly description: string;
  readonly size: ComputerSize;
  readonly environment: Readonly<Record<string, string>>;
  readonly nowMs: number;
  /** What is not given is as the columns' defaults have it. */
  readonly lifecycle?: LifecycleValues | undefined;
  readonly expiresAtMs?: number | null;
  readonly parentId?: string | null;
  readonly delegatorId?: string | null;
  readonly originSnapshotId?: string | null;
  readonly filling?: boolean;
  /** Of a warm one, whose cell runs already. */
  readonly warm?: { readonly image: string; readonly cellId: string } | undefined;
}

/** What a computer does by itself. */
export interface LifecycleValues {
  readonly sleep_after_ms?: number | undefined;
  readonly stop_after_ms?: number | undefined;
  readonly archive_after_ms?: number | undefined;
  readonly keep_awake?: boolean | undefined;
  readonly keep_hourly?: number | undefined;
  readonly keep_daily?: number | undefined;
  readonly keep_weekly?: number | undefined;
}

/** The columns of one that begins to be made. */
export const newComputerRow = (computer: NewComputer): Insertable<Tables["computers"]> => ({
  id: computer.id,
  account_id: computer.accountId,
  node_id: computer.nodeId,
  principal_id: computer.principalId,
  name: computer.name,
  description: computer.description,
  size: computer.size,
  environment: computer.environment,
  state: "creating",
  desired_state: "awake",
  reason: null,
  failure_code: null,
  image: computer.warm?.image ?? null,
  cell_id: computer.warm?.cellId ?? null,
  applied_size: computer.warm ? computer.size : null,
  created_at_ms: computer.nowMs,
  updated_at_ms: computer.nowMs,
  awake_since_ms: null,
  active_at_ms: computer.nowMs,
  state_since_ms: computer.nowMs,
  expires_at_ms: computer.expiresAtMs ?? null,
  parent_id: computer.parentId ?? null,
  delegator_id: computer.delegatorId ?? null,
  origin_snapshot_id: computer.originSnapshotId ?? null,
  // A copy of another computer's disk is not that computer.
  identity_due: (computer.originSnapshotId ?? null) !== null || computer.filling === true,
  filling: computer.filling ?? false,
  ...given(computer.lifecycle ?? {}),
});

export interface Observed {
  readonly state?: ComputerState;
  readonly desiredState?: DesiredState;
  readonly reason?: string | null;
  readonly failureCode?: ErrorCode | null;
  readonly attempts?: number;
  readonly crashes?: number;
  readonly image?: string;
  readonly cellId?: string | null;
  readonly appliedSize?: ComputerSize;
  readonly awakeSinceMs?: number | null;
  readonly archive?: Computer["archive"];
  readonly identityDue?: false;
  /** It is over. */
  readonly restoring?: null;
}

/** The columns that change with what was seen. */
export const observedColumns = (seen: Observed, nowMs: number) => ({
  ...(seen.state === undefined ? {} : stateSet(seen.state, nowMs)),
  ...(seen.desiredState === undefined ? {} : { desired_state: seen.desiredState }),
  ...(seen.reason === undefined ? {} : { reason: seen.reason }),
  ...(seen.failureCode === undefined ? {} : { failure_code: seen.failureCode }),
  ...(seen.attempts === undefined ? {} : { attempts: seen.attempts }),
  ...(seen.crashes === undefined ? {} : { crashes: seen.crashes }),
  ...(seen.image === undefined ? {} : { image: seen.image }),
  ...(seen.cellId === undefined ? {} : { cell_id: seen.cellId }),
  ...(seen.appliedSize === undefined ? {} : { applied_size: seen.appliedSize }),
  ...(seen.awakeSinceMs === undefined ? {} : { awake_since_ms: seen.awakeSinceMs }),
  ...(seen.archive === undefined
    ? {}
    : { archive_digest: seen.archive?.digest ?? null, archive_bytes: seen.archive?.bytes ?? null }),
  ...(seen.identityDue === undefined ? {} : { identity_due: false }),
  ...(seen.restoring === undefined
    ? {}
    : { restore_id: null, restore_snapshot_id: null, restore_definitions: false, restore_then: null }),
  updated_at_ms: nowMs,
});

const stateSet = (state: ComputerState, nowMs: number) => ({
  state,
  state_since_ms: sql<number>`case when state = ${state} then state_since_ms else ${nowMs}::bigint end`,
});

/** Only the fields that have a value. */
export const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
