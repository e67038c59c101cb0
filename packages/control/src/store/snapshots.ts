import { type Selectable, sql } from "kysely";
import type { SnapshotTables } from "./tables/snapshots.ts";
import type { Database, Transaction } from "./transaction.ts";

/** Without its definitions, which may have megabytes. */
export type SnapshotRow = Omit<Selectable<SnapshotTables["snapshots"]>, "definitions">;
export type SnapshotKind = SnapshotRow["kind"];

const columns = [
  "id",
  "account_id",
  "computer_id",
  "principal_id",
  "operation_id",
  "name",
  "note",
  "kind",
  "state",
  "services",
  "projects",
  "schedules",
  "sync_ms",
  "taken_at_ms",
] as const satisfies readonly (keyof SnapshotRow)[];

export interface NewSnapshot {
  readonly id: string;
  readonly accountId: string;
  readonly computerId: string;
  readonly principalId: string;
  readonly operationId: string | null;
  readonly name: string;
  readonly note: string;
  readonly kind: SnapshotKind;
  readonly definitions: object;
  /** In them. */
  readonly services: number;
  readonly projects: number;
  readonly schedules: number;
  readonly nowMs: number;
}

export const snapshotNameIndex = "snapshots_name";

/** As `taking`. Throws a unique violation of `snapshotNameIndex` when the computer has one of this name. */
export const insertSnapshot = (db: Database | Transaction, snapshot: NewSnapshot): Promise<SnapshotRow> =>
  db
    .insertInto("snapshots")
    .values({
      id: snapshot.id,
      account_id: snapshot.accountId,
      computer_id: snapshot.computerId,
      principal_id: snapshot.principalId,
      operation_id: snapshot.operationId,
      name: snapshot.name,
      note: snapshot.note,
      kind: snapshot.kind,
      state: "taking",
      definitions: { ...snapshot.definitions },
      services: snapshot.services,
      projects: snapshot.projects,
      schedules: snapshot.schedules,
      taken_at_ms: snapshot.nowMs,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();

export const getSnapshot = (db: Database | Transaction, id: string): Promise<SnapshotRow | undefined> =>
  db.selectFrom("snapshots").select(columns).where("id", "=", id).executeTakeFirst();

/** Undefined: there is no such snapshot. */
export const getDefinitions = async (
  db: Database | Transaction,
  id: string,
): Promise<Readonly<Record<string, unknown>> | undefined> =>
  (await db.selectFrom("snapshots").select("definitions").where("id", "=", id).executeTakeFirst())
    ?.definitions;

/** The one that an operation has written down. */
export const snapshotOfOperation = (
  db: Database | Transaction,
  operationId: string,
): Promise<SnapshotRow | undefined> =>
  db
    .selectFrom("snapshots")
    .select(columns)
    .where("operation_id", "=", operationId)
    .where("kind", "<>", "passing")
    .executeTakeFirst();

/** By id or name, of those that can be seen: taken, and not passing. Also one that is being deleted when `deleting` is set. */
export const findSnapshot = (
  db: Database | Transaction,
  computerId: string,
  ref: string,
  options: { readonly lock?: boolean; readonly deleting?: boolean } = {},
): Promise<SnapshotRow | undefined> => {
  const query = db
    .selectFrom("snapshots")
    .select(columns)
    .where("computer_id", "=", computerId)
    .where(ref.startsWith("snp_") ? "id" : "name", "=", ref)
    .where("kind", "<>", "passing")
    .where("state", "in", options.deleting === true ? ["kept", "deleting"] : ["kept"]);
  return (options.lock === true ? query.forUpdate() : query).executeTakeFirst();
};

/** Newest first. */
export const listSnapshots = (
  db: Database,
  computerId: string,
  before: string | undefined,
  limit: number,
): Promise<SnapshotRow[]> => {
  const query = db
    .selectFrom("snapshots")
    .select(columns)
    .where("computer_id", "=", computerId)
    .where("kind", "<>", "passing")
    .where("state", "=", "kept");
  return (before === undefined ? query : query.where("id", "<", before))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
};

/** All but passing ones. */
export const countSnapshots = async (db: Transaction, computerId: string): Promise<number> =>
  (
    await db
      .selectFrom("snapshots")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("computer_id", "=", computerId)
      .where("kind", "<>", "passing")
      .executeTakeFirstOrThrow()
  ).count;

/** Of all living computers of an account, or of one principal with the children of its computers; all but passing ones. */
export const countSnapshotsOf = async (
  db: Transaction,
  of: { readonly accountId: string } | { readonly principalId: string },
): Promise<number> => {
  const query = db
    .selectFrom("snapshots")
    .innerJoin("computers", "computers.id", "snapshots.computer_id")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("snapshots.kind", "<>", "passing")
    .where("computers.state", "<>", "destroyed");
  const { count } = await ("accountId" in of
    ? query.where("snapshots.account_id", "=", of.accountId)
    : query.where((where) =>
        where.or([
          where("computers.principal_id", "=", of.principalId),
          where("computers.delegator_id", "=", of.principalId),
        ]),
      )
  ).executeTakeFirstOrThrow();
  return count;
};

/** It was taken. Undefined when the row is gone or was kept already. */
export const keepSnapshot = (
  db: Database | Transaction,
  id: string,
  syncMs: number,
): Promise<SnapshotRow | undefined> =>
  db
    .updateTable("snapshots")
    .set({ state: "kept", sync_ms: syncMs })
    .where("id", "=", id)
    .where("state", "=", "taking")
    .returning(columns)
    .executeTakeFirst();

/** From now on nobody finds it by its name, which is free again. `untaken`: only when it was not taken. */
export const beginDeleting = async (
  db: Database | Transaction,
  id: string,
  { untaken = false }: { readonly untaken?: boolean } = {},
): Promise<void> => {
  const query = db
    .updateTable("snapshots")
    .set((all) => ({ state: "deleting" as const, name: all.ref("id") }))
    .where("id", "=", id);
  await (untaken ? query.where("state", "=", "taking") : query).execute();
};

export const forgetSnapshot = async (db: Database | Transaction, id: string): Promise<void> => {
  await db.deleteFrom("snapshots").where("id", "=", id).execute();
};

/** Whether a volume is still to be made from it, or to be put back to it, or an offer is made of it: then it may not go. */
export const isAwaited = async (db: Database | Transaction, id: string): Promise<boolean> => {
  const { rows } = await sql`
    select 1 from computers where state <> 'destroyed' and desired_state <> 'destroyed'
      and ((origin_snapshot_id = ${id} and image is null) or restore_snapshot_id = ${id} or restore_id = ${id})
    union all
    select 1 from offers where snapshot_id = ${id} and state in ('making', 'open', 'accepting', 'placing')
    limit 1`.execute(db);
  return rows.length > 0;
};

/** Being taken, being deleted, or passing and of no offer that is not decided; on this node's computers. */
export const listUnfinished = (db: Database, nodeId: string, limit: number): Promise<SnapshotRow[]> =>
  db
    .selectFrom("snapshots")
    .innerJoin("computers", "computers.id", "snapshots.computer_id")
    .select(columns.map((column) => `snapshots.${column}` as const))
    .where((where) =>
      where.or([where("snapshots.state", "<>", "kept"), where("snapshots.kind", "=", "passing")]),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("offers")
            .select("offers.id")
            .whereRef("offers.snapshot_id", "=", "snapshots.id")
            .where("offers.state", "in", ["making", "open", "accepting", "placing"]),
        ),
      ),
    )
    .where("computers.node_id", "=", nodeId)
    .where("computers.state", "<>", "destroyed")
    .orderBy("snapshots.id")
    .limit(limit)
    .execute();

/** Of destroyed computers: the supervisor has deleted the snapshots themselves with the volume. */
export const forgetOfDestroyed = async (db: Database): Promise<void> => {
  await sql`delete from snapshots using computers
    where computers.id = snapshots.computer_id and computers.state = 'destroyed'`.execute(db);
};

/** The automatic ones of a kind that are more than `keep`, oldest first. */
export const listSurplus = async (
  db: Database,
  computerId: string,
  kind: SnapshotKind,
  keep: number,
): Promise<readonly string[]> =>
  (
    await db
      .selectFrom("snapshots")
      .select("id")
      .where("computer_id", "=", computerId)
      .where("kind", "=", kind)
      .where("state", "=", "kept")
      .orderBy("id", "desc")
      .offset(keep)
      .limit(1000)
      .execute()
  )
    .map(({ id }) => id)
    .toReversed();

/** Ids of living computers with automatic snapshots: that want some, or have some left. In pages. */
export const listRetaining = async (
  db: Database,
  nodeId: string,
  after: string,
  limit: number,
): Promise<readonly string[]> =>
  (
    await sql<{ id: string }>`
      select id from computers
      where node_id = ${nodeId} and state <> 'destroyed' and desired_state <> 'destroyed' and image is not null
        and id > ${after}
        and (keep_hourly + keep_daily + keep_weekly > 0 or exists (
          select 1 from snapshots where snapshots.computer_id = computers.id and kind in ('hourly', 'daily', 'weekly')))
      order by id limit ${limit}`.execute(db)
  ).rows.map(({ id }) => id);

/** When the newest of each kind was taken, by name and time; whatever its state. */
export const newestOfKind = (
  db: Database | Transaction,
  computerId: string,
  kind: SnapshotKind,
): Promise<SnapshotRow | undefined> =>
  db
    .selectFrom("snapshots")
    .select(columns)
    .where("computer_id", "=", computerId)
    .where("kind", "=", kind)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
