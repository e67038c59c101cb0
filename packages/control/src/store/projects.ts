import { type Selectable, sql } from "kysely";
import type { Principal } from "../domain/principal.ts";
import { visibleTo } from "./computers.ts";
import type { Tables } from "./tables/index.ts";
import type { ProjectDefinition } from "./tables/projects.ts";
import type { Database, Transaction } from "./transaction.ts";

export type ProjectRow = Selectable<Tables["projects"]>;
export type { ProjectDefinition };

/** Notified when a transaction with `touchRoute` commits; the payload is empty. */
export const routesChannel = "holdfast_routes";

/** Any number of ours: revisions are given one transaction after the other. */
const lockKey = 724_041_933;

/**
 * Gives projects a new route revision and tells the listeners. Call it last in a transaction, after every other lock it takes: revisions
 * are given under a lock that is held until the commit, so they become visible in their order, and who has read up to one misses none below
 * it. For each change that a gateway must know of: created, web port, published, unpublished, destroyed.
 */
export const touchRoute = async (
  transaction: Transaction,
  ...projectIds: readonly string[]
): Promise<void> => {
  if (projectIds.length === 0) return;
  // Rows before the lock: who waits for a row while holding it would stop all others.
  await transaction
    .selectFrom("projects")
    .select("id")
    .where("id", "in", projectIds)
    .orderBy("id")
    .forUpdate()
    .execute();
  await sql`select pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(transaction);
  await Promise.all([
    transaction
      .updateTable("projects")
      .set({ route_revision: sql<number>`nextval('route_revisions')` })
      .where("id", "in", projectIds)
      .execute(),
    sql`select pg_notify(${routesChannel}, '')`.execute(transaction),
  ]);
};

export const getProject = (db: Database | Transaction, id: string): Promise<ProjectRow | undefined> =>
  db.selectFrom("projects").selectAll().where("id", "=", id).executeTakeFirst();

export interface ProjectRef {
  readonly principal: Principal;
  /** Id or slug; they never look alike. */
  readonly ref: string;
  /** Also one that is destroyed, by its id. */
  readonly destroyed?: boolean;
  /** Locks the row until the transaction ends. Take the lock of its computer's row before, if any. */
  readonly lock?: boolean;
}

/** Among those the principal may see: an owner all of the account, an assistant its own. One that is being created is not there yet. */
export const findProject = async (
  db: Database | Transaction,
  { principal, ref, destroyed, lock }: ProjectRef,
): Promise<ProjectRow | undefined> => {
  const byId = ref.startsWith("prj_");
  let query = db
    .selectFrom("projects")
    .selectAll()
    .where("account_id", "=", principal.accountId)
    .where(byId ? "id" : "slug", "=", ref)
    .where("state", "in", byId && destroyed === true ? ["living", "destroyed"] : ["living"]);
  const visible = visibleTo(principal);
  if (visible !== null) query = query.where("principal_id", "=", visible);
  if (lock === true) query = query.forUpdate();
  return query.executeTakeFirst();
};
