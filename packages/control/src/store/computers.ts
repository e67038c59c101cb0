import type { ComputerSize } from "@holdfast/contract";
import { sql } from "kysely";
import type { Cause, Computer, ComputerState, DesiredState, Restoring } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import {
  type ComputerRow,
  given,
  type LifecycleValues,
  type NewComputer,
  type Observed,
  observedColumns,
  newComputerRow,
  toComputer,
} from "./computer-row.ts";
import type { Database, Transaction } from "./transaction.ts";
import { mayBeSeenBy } from "./visible.ts";

export type { LifecycleValues, NewComputer, Observed };

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
  let query = db.selectFrom("computers").selectAll().where(mayBeSeenBy(principal));
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

export const computerNameIndex = "computers_name";

/** Throws a unique violation of `computerNameIndex` when the principal has a computer of this name. */
export const insertComputer = async (
  db: Database | Transaction,
  computer: NewComputer,
): Promise<Computer> => {
  // Written out, as `claimKey` is.
  const columns = Object.entries(newComputerRow(computer));
  const names = sql.join(columns.map(([name]) => sql.ref(name)));
  const { rows } = await sql<ComputerRow>`
    insert into computers (${names}) values (${sql.join(columns.map(([, value]) => value))}) returning *`.execute(
    db,
  );
  const [row] = rows;
  if (!row) throw new Error("an insertion returned no row");
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
  let query = db.selectFrom("computers").selectAll().where(mayBeSeenBy(principal));
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
  const { rows } = await sql<ComputerRow>`
    update computers
    set desired_state = ${desired}, desired_cause = ${cause}, attempts = 0, crashes = 0, failure_code = null, reason = null,
      state = case when state <> 'failed' then state when image is null then 'creating'
        when archive_digest is not null then 'archived' else 'stopped' end,
      state_since_ms = case when state = 'failed' then ${nowMs}::bigint else state_since_ms end,
      updated_at_ms = ${nowMs}
    where id = ${id} and desired_state <> 'destroyed'
      and (${whileDesired ?? null}::text is null or desired_state = ${whileDesired ?? null}::text)
    returning *`.execute(db);
  const [row] = rows;
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

/** What the reconciler saw. Undefined, and nothing written, when something else than `whileDesired` is asked for by now. */
export const observeComputer = async (
  db: Database | Transaction,
  id: string,
  seen: Observed,
  nowMs: number,
  whileDesired?: DesiredState,
): Promise<Computer | undefined> => {
  const columns = Object.entries(observedColumns(seen, nowMs));
  const sets = columns.map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
  const { rows } = await sql<ComputerRow>`
    update computers set ${sql.join(sets)}
    where id = ${id} and (${whileDesired ?? null}::text is null or desired_state = ${whileDesired ?? null}::text)
    returning *`.execute(db);
  const [row] = rows;
  return row && toComputer(row);
};

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
