import { type Selectable, sql } from "kysely";
import type { Principal } from "../domain/principal.ts";
import type { Tables } from "./tables/index.ts";
import type { ProjectDefinition } from "./tables/projects.ts";
import type { Database, Transaction } from "./transaction.ts";
import { visibleTo } from "./visible.ts";

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

export interface WhichProject {
  /** Also one that is destroyed, by its id. */
  readonly destroyed?: boolean;
  /** Locks the row until the transaction ends. Take the lock of its computer's row before, if any. */
  readonly lock?: boolean;
}

/**
 * Among those the principal may see: an owner all of the account, an assistant its own and those of its computers' children. `ref` is an id or a slug; they never look alike. One that
 * is being created is not there yet.
 */
export const findVisibleProject = async (
  db: Database | Transaction,
  principal: Principal,
  ref: string,
  { destroyed, lock }: WhichProject,
): Promise<ProjectRow | undefined> => {
  const byId = ref.startsWith("prj_");
  let query = visibleProjects(db, principal)
    .where(byId ? "id" : "slug", "=", ref)
    .where("state", "in", byId && destroyed === true ? ["living", "destroyed"] : ["living"]);
  if (lock === true) query = query.forUpdate();
  return query.executeTakeFirst();
};

const visibleProjects = (db: Database | Transaction, principal: Principal) => {
  const query = db.selectFrom("projects").selectAll().where("account_id", "=", principal.accountId);
  const visible = visibleTo(principal);
  if (visible === null) return query;
  // Those on children of its computers too.
  return query.where((where) =>
    where.or([
      where("principal_id", "=", visible),
      where(
        "computer_id",
        "in",
        where.selectFrom("computers").select("computers.id").where("delegator_id", "=", visible),
      ),
    ]),
  );
};

export interface NewProject {
  readonly id: string;
  readonly accountId: string;
  readonly computerId: string;
  readonly principalId: string;
  readonly operationId: string;
  readonly name: string;
  readonly slug: string;
  readonly description: string;
  readonly template: string;
  readonly definition: ProjectDefinition;
  readonly nowMs: number;
}

export const projectSlugIndex = "projects_slug";

/** As `creating`. Throws a unique violation of `projectSlugIndex` when there is one of that slug. */
export const insertProject = (db: Transaction, project: NewProject): Promise<ProjectRow> =>
  db
    .insertInto("projects")
    .values({
      id: project.id,
      account_id: project.accountId,
      computer_id: project.computerId,
      principal_id: project.principalId,
      operation_id: project.operationId,
      name: project.name,
      slug: project.slug,
      description: project.description,
      template: project.template,
      definition: project.definition,
      deployed_definition: null,
      web_port: null,
      published: null,
      state: "creating",
      created_at_ms: project.nowMs,
      updated_at_ms: project.nowMs,
      destroyed_at_ms: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Those of a computer that are living or being created. */
export const countProjects = async (db: Transaction, computerId: string): Promise<number> => {
  const { count } = await db
    .selectFrom("projects")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("computer_id", "=", computerId)
    .where("state", "<>", "destroyed")
    .executeTakeFirstOrThrow();
  return count;
};

/** Of a creation that came to nothing. False, and nothing deleted, when it lives by now. */
export const deleteCreating = async (db: Transaction, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom("projects")
    .where("id", "=", id)
    .where("state", "=", "creating")
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
};

/** The one that keeps a name from being used again on a computer. */
export const findNamed = (
  db: Database | Transaction,
  computerId: string,
  name: string,
): Promise<ProjectRow | undefined> =>
  db
    .selectFrom("projects")
    .selectAll()
    .where("computer_id", "=", computerId)
    .where("name", "=", name)
    .where("state", "<>", "destroyed")
    .executeTakeFirst();

export interface ProjectFilter {
  readonly principal: Principal;
  readonly computerId: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Living ones, newest first. */
export const listProjects = (
  db: Database,
  { principal, computerId, before, limit }: ProjectFilter,
): Promise<ProjectRow[]> => {
  let query = visibleProjects(db, principal).where("state", "=", "living");
  if (computerId !== undefined) query = query.where("computer_id", "=", computerId);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
};

/** All that live on a computer, in the order of names. */
export const listLivingProjects = (db: Database | Transaction, computerId: string): Promise<ProjectRow[]> =>
  db
    .selectFrom("projects")
    .selectAll()
    .where("computer_id", "=", computerId)
    .where("state", "=", "living")
    .orderBy("name")
    .execute();

/**
 * On this node's computers, in the order in which they were begun. Not those whose computer sleeps or is stopped: what is left of one is out of
 * sight then, and only its name is held.
 */
export const listCreating = (db: Database, nodeId: string): Promise<ProjectRow[]> =>
  db
    .selectFrom("projects")
    .innerJoin("computers", "computers.id", "projects.computer_id")
    .selectAll("projects")
    .where("projects.state", "=", "creating")
    .where("computers.node_id", "=", nodeId)
    .where((where) =>
      where.or([where("computers.state", "=", "awake"), where("computers.desired_state", "=", "destroyed")]),
    )
    .orderBy("projects.id")
    .limit(100)
    .execute();

export interface ProjectChange {
  readonly description?: string | undefined;
  readonly definition?: ProjectDefinition | undefined;
}

/** Grows the version, and the definition's where that is given. */
export const changeProject = (
  db: Transaction,
  id: string,
  { description, definition }: ProjectChange,
  nowMs: number,
): Promise<ProjectRow> =>
  db
    .updateTable("projects")
    .set((all) => ({
      ...(description === undefined ? {} : { description }),
      ...(definition === undefined
        ? {}
        : { definition, definition_version: all("definition_version", "+", 1) }),
      version: all("version", "+", 1),
      updated_at_ms: nowMs,
    }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** What was deployed; one that was being created lives from now on. */
export const writeDeployed = (
  db: Transaction,
  id: string,
  deployed: {
    readonly definition: ProjectDefinition;
    readonly webPort: number | null;
    readonly nowMs: number;
  },
): Promise<ProjectRow> =>
  db
    .updateTable("projects")
    .set({
      deployed_definition: deployed.definition,
      web_port: deployed.webPort,
      state: "living",
      updated_at_ms: deployed.nowMs,
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** What runs of a project that was put here with its computer's files; it lives from now on. `deployed` null: nothing was deployed of it. */
export const placeProject = (
  db: Transaction,
  id: string,
  deployed: { readonly definition: ProjectDefinition; readonly webPort: number | null } | null,
  nowMs: number,
): Promise<ProjectRow> =>
  db
    .updateTable("projects")
    .set((all) => ({
      deployed_definition: deployed?.definition ?? null,
      web_port: deployed?.webPort ?? null,
      state: "living" as const,
      version: all("version", "+", 1),
      updated_at_ms: nowMs,
    }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Only living ones change. The rows of their services are not touched. Answers what was destroyed by it. */
export const destroyProjects = async (
  db: Transaction,
  which: { readonly id: string } | { readonly computerId: string },
  nowMs: number,
): Promise<readonly ProjectRow[]> =>
  db
    .updateTable("projects")
    .set((all) => ({
      state: "destroyed" as const,
      published: null,
      web_port: null,
      version: all("version", "+", 1),
      updated_at_ms: nowMs,
      destroyed_at_ms: nowMs,
    }))
    .where("id" in which ? "id" : "computer_id", "=", "id" in which ? which.id : which.computerId)
    .where("state", "=", "living")
    .returningAll()
    .execute();

/** Whatever its state. Locks the row until the transaction ends: take the lock of its computer's row before. */
export const lockProject = (db: Transaction, id: string): Promise<ProjectRow | undefined> =>
  db.selectFrom("projects").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
