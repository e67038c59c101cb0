import type { ComputerSize, ErrorCode } from "@holdfast/contract";
import { type Selectable, sql } from "kysely";
import type { Cause, Computer, ComputerState, DesiredState, Restoring } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

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

/** Whose computers a principal may see: an owner all of the account, an assistant its own and their children. Null is all. */
export const visibleTo = (principal: Principal): string | null =>
  principal.kind === "owner" ? null : principal.id;

export interface ComputerRef {
  readonly principal: Principal;
  /** Id or name; ids and names never look alike. */
  readonly ref: string;
  readonly destroyed?: boolean;
  /** Locks the row until the transaction ends. */
  readonly lock?: boolean;
}

/** At most two rows, the principal's own first: an owner may see several of one name. */
export const findComputers = async (
  db: Database | Transaction,
  { principal, ref, destroyed, lock }: ComputerRef,
): Promise<readonly Computer[]> => {
  let query = db.selectFrom("computers").selectAll().where("account_id", "=", principal.accountId);
  const visible = visibleTo(principal);
  if (visible !== null)
    query = query.where((of) => of.or([of("principal_id", "=", visible), of("delegator_id", "=", visible)]));
  if (ref.startsWith("cmp_")) query = query.where("id", "=", ref);
  else query = query.where("name", "=", ref).where("desired_state", "<>", "destroyed");
  if (destroyed !== true) query = query.where("desired_state", "<>", "destroyed");
  if (lock === true) query = query.forUpdate();
  const rows = await query.orderBy(sql`principal_id = ${principal.id}`, "desc").limit(2).execute();
  return rows.map(toComputer);
};

export const getComputer = async (db: Database | Transaction, id: string): Promise<Computer | undefined> => {
  const row = await db.selectFrom("computers").selectAll().where("id", "=", id).executeTakeFirst();
  return row && toComputer(row);
};

/** Those that there are of these, in no order. */
export const getComputers = async (db: Database, ids: readonly string[]): Promise<readonly Computer[]> =>
  ids.length === 0
    ? []
    : (await db.selectFrom("computers").selectAll().where("id", "in", ids).execute()).map(toComputer);

/** Locks its row until the transaction ends: first of all locks that are taken about a computer. */
export const lockComputer = async (transaction: Transaction, id: string): Promise<Computer | undefined> => {
  const row = await transaction
    .selectFrom("computers")
    .selectAll()
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row && toComputer(row);
};

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

export const computerNameIndex = "computers_name";

/** Throws a unique violation of `computerNameIndex` when the principal has a computer of this name. */
export const insertComputer = async (
  db: Database | Transaction,
  computer: NewComputer,
): Promise<Computer> => {
  const row = await db
    .insertInto("computers")
    .values({
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
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toComputer(row);
};

export interface ComputerFilter {
  readonly principal: Principal;
  readonly state: ComputerState | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first, which ids do not tell: one that was kept warm had its own before it was anybody's. Destroyed ones only when asked for. */
export const listComputers = async (
  db: Database,
  { principal, state, before, limit }: ComputerFilter,
): Promise<readonly Computer[]> => {
  let query = db.selectFrom("computers").selectAll().where("account_id", "=", principal.accountId);
  const visible = visibleTo(principal);
  if (visible !== null)
    query = query.where((of) => of.or([of("principal_id", "=", visible), of("delegator_id", "=", visible)]));
  query = state === undefined ? query.where("state", "<>", "destroyed") : query.where("state", "=", state);
  if (before !== undefined)
    query = query.where(
      sql<boolean>`(created_at_ms, id) < (select last.created_at_ms, last.id from computers as last where last.id = ${before})`,
    );
  const rows = await query.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(limit).execute();
  return rows.map(toComputer);
};

export interface ComputerChange extends LifecycleValues {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly size?: ComputerSize | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** What the owner of a computer may change; grows its version. */
export const changeComputer = async (
  db: Transaction,
  id: string,
  change: ComputerChange,
  nowMs: number,
): Promise<Computer> => {
  const row = await db
    .updateTable("computers")
    .set((all) => ({ ...given(change), version: all("version", "+", 1), updated_at_ms: nowMs }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toComputer(row);
};

/** Only the fields that have a value. */
const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/**
 * Records what is wanted from now on, and forgives earlier failures: a failed one is tried again from what is known of it. Undefined, and
 * nothing written, when it is being destroyed, or something else than `whileDesired` is wanted by now.
 */
export const desire = async (
  db: Database | Transaction,
  id: string,
  desired: DesiredState,
  nowMs: number,
  cause: Cause = "asked",
  whileDesired?: DesiredState,
): Promise<Computer | undefined> => {
  let query = db
    .updateTable("computers")
    .set((all) => ({
      desired_state: desired,
      desired_cause: cause,
      attempts: 0,
      crashes: 0,
      failure_code: null,
      reason: null,
      state: all
        .case()
        .when("state", "<>", "failed")
        .then(all.ref("state"))
        .when("image", "is", null)
        .then("creating" as const)
        .when("archive_digest", "is not", null)
        .then("archived" as const)
        .else("stopped" as const)
        .end(),
      state_since_ms: sql<number>`case when state = 'failed' then ${nowMs}::bigint else state_since_ms end`,
      updated_at_ms: nowMs,
    }))
    .where("id", "=", id)
    .where("desired_state", "<>", "destroyed");
  if (whileDesired !== undefined) query = query.where("desired_state", "=", whileDesired);
  const row = await query.returningAll().executeTakeFirst();
  return row && toComputer(row);
};

/** All of it is there: it starts like any other from now on. */
export const endFilling = async (db: Transaction, id: string, nowMs: number): Promise<Computer> =>
  toComputer(
    await db
      .updateTable("computers")
      .set({ filling: false, updated_at_ms: nowMs })
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirstOrThrow(),
  );

/** From now on the reconciler puts it back to a snapshot; earlier failures are forgiven. */
export const beginRestoring = async (
  db: Transaction,
  id: string,
  restoring: Restoring,
  nowMs: number,
): Promise<Computer> => {
  const row = await db
    .updateTable("computers")
    .set({
      restore_id: restoring.id,
      restore_snapshot_id: restoring.snapshotId,
      restore_definitions: restoring.definitions,
      restore_then: restoring.afterwards,
      attempts: 0,
      crashes: 0,
      failure_code: null,
      reason: null,
      state: sql<ComputerState>`case when state <> 'failed' then state
        when archive_digest is not null then 'archived' else 'stopped' end`,
      updated_at_ms: nowMs,
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toComputer(row);
};

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

/** What the reconciler saw. Undefined, and nothing written, when something else than `whileDesired` is asked for by now. */
export const observeComputer = async (
  db: Database | Transaction,
  id: string,
  seen: Observed,
  nowMs: number,
  whileDesired?: DesiredState,
): Promise<Computer | undefined> => {
  const set = {
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
  };
  let query = db.updateTable("computers").set(set).where("id", "=", id);
  if (whileDesired !== undefined) query = query.where("desired_state", "=", whileDesired);
  const row = await query.returningAll().executeTakeFirst();
  return row && toComputer(row);
};

const stateSet = (state: ComputerState, nowMs: number) => ({
  state,
  state_since_ms: sql<number>`case when state = ${state} then state_since_ms else ${nowMs}::bigint end`,
});

/** All that this node has to look after, in pages. */
export const listLiving = async (
  db: Database,
  nodeId: string,
  after: string,
  limit: number,
): Promise<readonly Computer[]> =>
  (
    await db
      .selectFrom("computers")
      .selectAll()
      .where("node_id", "=", nodeId)
      .where("state", "<>", "destroyed")
      .where("id", ">", after)
      .orderBy("id")
      .limit(limit)
      .execute()
  ).map(toComputer);
