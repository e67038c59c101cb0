import { type Selectable, sql } from "kysely";
import type { ManifestEntry } from "../domain/trees.ts";
import type { Principal } from "../domain/principal.ts";
import type { SnapshotTables } from "./tables/snapshots.ts";
import type { Database, Transaction } from "./transaction.ts";
import { visibleTo } from "./visible.ts";

/** Without its manifest, which may have a million bytes. */
export type OfferRow = Omit<Selectable<SnapshotTables["offers"]>, "manifest">;

const columns = [
  "id",
  "account_id",
  "child_id",
  "parent_id",
  "snapshot_id",
  "note",
  "paths",
  "entries",
  "bytes",
  "digest",
  "state",
  "operation_id",
  "made_by",
  "made_at_ms",
  "decided_by",
  "decided_at_ms",
  "decided_note",
  "project_id",
  "commit",
] as const satisfies readonly (keyof OfferRow)[];

export interface NewOffer {
  readonly id: string;
  readonly accountId: string;
  readonly childId: string;
  readonly parentId: string;
  readonly snapshotId: string;
  readonly note: string;
  readonly paths: readonly string[];
  readonly operationId: string;
  readonly madeBy: string;
  readonly nowMs: number;
}

/** As `making`: nobody sees it yet. */
export const insertOffer = async (db: Transaction, offer: NewOffer): Promise<void> => {
  await db
    .insertInto("offers")
    .values({
      id: offer.id,
      account_id: offer.accountId,
      child_id: offer.childId,
      parent_id: offer.parentId,
      snapshot_id: offer.snapshotId,
      note: offer.note,
      paths: JSON.stringify(offer.paths),
      manifest: null,
      state: "making",
      operation_id: offer.operationId,
      made_by: offer.madeBy,
      made_at_ms: offer.nowMs,
      decided_by: null,
      decided_at_ms: null,
      decided_note: null,
      project_id: null,
      commit: null,
    })
    .execute();
};

export const getOffer = (db: Database | Transaction, id: string): Promise<OfferRow | undefined> =>
  db.selectFrom("offers").select(columns).where("id", "=", id).executeTakeFirst();

export const lockOffer = (db: Transaction, id: string): Promise<OfferRow | undefined> =>
  db.selectFrom("offers").select(columns).where("id", "=", id).forUpdate().executeTakeFirst();

/** Empty once the offer is decided. */
export const getManifest = async (db: Database, id: string): Promise<readonly ManifestEntry[]> =>
  (await db.selectFrom("offers").select("manifest").where("id", "=", id).executeTakeFirst())?.manifest ?? [];

/** Among those whose parent or child the principal may see; not one that is being made. */
export const findVisibleOffer = (
  db: Database | Transaction,
  principal: Principal,
  id: string,
): Promise<OfferRow | undefined> => {
  const query = db
    .selectFrom("offers")
    .select(columns)
    .where("id", "=", id)
    .where("account_id", "=", principal.accountId)
    .where("state", "<>", "making");
  const visible = visibleTo(principal);
  if (visible === null) return query.executeTakeFirst();
  return query
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("computers")
          .select("computers.id")
          .where((where) =>
            where.or([
              where("computers.id", "=", where.ref("offers.child_id")),
              where("computers.id", "=", where.ref("offers.parent_id")),
            ]),
          )
          .where((where) =>
            where.or([
              where("computers.principal_id", "=", visible),
              where("computers.delegator_id", "=", visible),
            ]),
          ),
      ),
    )
    .executeTakeFirst();
};

/** To a computer and from it, newest first. */
export const listOffers = (
  db: Database,
  computerId: string,
  before: string | undefined,
  limit: number,
): Promise<OfferRow[]> => {
  const query = db
    .selectFrom("offers")
    .select(columns)
    .where((where) => where.or([where("child_id", "=", computerId), where("parent_id", "=", computerId)]))
    .where("state", "<>", "making");
  return (before === undefined ? query : query.where("id", "<", before))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
};

/** Of a child, that are not decided. */
export const countOpenOffers = async (db: Transaction, childId: string): Promise<number> =>
  (
    await db
      .selectFrom("offers")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("child_id", "=", childId)
      .where("state", "in", ["making", "open", "accepting", "placing"])
      .executeTakeFirstOrThrow()
  ).count;

export interface OfferChange {
  readonly state: OfferRow["state"];
  readonly manifest?: readonly ManifestEntry[] | null;
  readonly entries?: number;
  readonly bytes?: number;
  readonly digest?: string;
  readonly operationId?: string;
  readonly decidedBy?: string | null;
  readonly decidedAtMs?: number | null;
  readonly decidedNote?: string | null;
  readonly projectId?: string | null;
  readonly commit?: string | null;
}

/** Undefined, and nothing changed, when it is in none of these states. */
export const changeOffer = (
  db: Database | Transaction,
  id: string,
  from: readonly OfferRow["state"][],
  change: OfferChange,
): Promise<OfferRow | undefined> =>
  db
    .updateTable("offers")
    .set({
      state: change.state,
      ...(change.manifest === undefined
        ? {}
        : { manifest: change.manifest === null ? null : JSON.stringify(change.manifest) }),
      ...(change.entries === undefined ? {} : { entries: change.entries }),
      ...(change.bytes === undefined ? {} : { bytes: change.bytes }),
      ...(change.digest === undefined ? {} : { digest: change.digest }),
      ...(change.operationId === undefined ? {} : { operation_id: change.operationId }),
      ...(change.decidedBy === undefined ? {} : { decided_by: change.decidedBy }),
      ...(change.decidedAtMs === undefined ? {} : { decided_at_ms: change.decidedAtMs }),
      ...(change.decidedNote === undefined ? {} : { decided_note: change.decidedNote }),
      ...(change.projectId === undefined ? {} : { project_id: change.projectId }),
      ...(change.commit === undefined ? {} : { commit: change.commit }),
    })
    .where("id", "=", id)
    .where("state", "in", from)
    .returning(columns)
    .executeTakeFirst();

export const forgetOffer = async (db: Database | Transaction, id: string): Promise<void> => {
  await db.deleteFrom("offers").where("id", "=", id).where("state", "=", "making").execute();
};

/** Begun and not done: of operations that are worked on, or were. */
export const listUnfinishedOffers = (db: Database, nodeId: string, limit: number): Promise<OfferRow[]> =>
  db
    .selectFrom("offers")
    .innerJoin("computers", "computers.id", "offers.parent_id")
    .select(columns.map((column) => `offers.${column}` as const))
    .where("offers.state", "in", ["making", "accepting", "placing"])
    .where("computers.node_id", "=", nodeId)
    .orderBy("offers.id")
    .limit(limit)
    .execute();

/**
 * A snapshot goes with its computer, so what is offered of a destroyed child is withdrawn, unless it is on its way into the parent already; likewise
 * all that is offered to a destroyed parent.
 */
export const withdrawOfDestroyed = async (db: Database, nowMs: number): Promise<void> => {
  await sql`
    update offers set state = 'withdrawn', manifest = null, decided_at_ms = ${nowMs}
    from computers as child, computers as parent
    where child.id = offers.child_id and parent.id = offers.parent_id
      and ((offers.state in ('making', 'open', 'accepting') and child.state = 'destroyed')
        or (offers.state in ('making', 'open', 'accepting', 'placing') and parent.state = 'destroyed'))`.execute(
    db,
  );
};
