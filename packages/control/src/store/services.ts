import type { Selectable } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database, Store, Transaction } from "./transaction.ts";

export type ServiceRow = Selectable<Tables["services"]>;

/** In the order of names, which is the order of lists. */
export const listServices = (
  db: Database | Transaction,
  computerId: string,
  options: { readonly after?: string | undefined; readonly limit?: number } = {},
): Promise<ServiceRow[]> => {
  let query = db.selectFrom("services").selectAll().where("computer_id", "=", computerId);
  if (options.after !== undefined) query = query.where("name", ">", options.after);
  query = query.orderBy("name");
  return (options.limit === undefined ? query : query.limit(options.limit)).execute();
};

export const findService = (
  db: Database | Transaction,
  computerId: string,
  ref: string,
): Promise<ServiceRow | undefined> =>
  db
    .selectFrom("services")
    .selectAll()
    .where("computer_id", "=", computerId)
    .where(ref.startsWith("svc_") ? "id" : "name", "=", ref)
    .executeTakeFirst();

export const getServiceById = (db: Database | Transaction, id: string): Promise<ServiceRow | undefined> =>
  db.selectFrom("services").selectAll().where("id", "=", id).executeTakeFirst();

export const serviceNameIndex = "services_name";

export interface NewService {
  readonly id: string;
  readonly computerId: string;
  /** Null: of the computer alone. */
  readonly projectId?: string | null;
  readonly name: string;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly baseEnvironment: Readonly<Record<string, string>>;
  /** Default: running. */
  readonly desiredState?: "running" | "stopped";
  readonly nowMs: number;
}

/** Throws a unique violation of `serviceNameIndex` when the computer has a service of this name. */
export const insertService = (db: Transaction, service: NewService): Promise<ServiceRow> =>
  db
    .insertInto("services")
    .values({
      id: service.id,
      computer_id: service.computerId,
      project_id: service.projectId ?? null,
      name: service.name,
      definition: service.definition,
      base_environment: service.baseEnvironment,
      desired_state: service.desiredState ?? "running",
      created_at_ms: service.nowMs,
      updated_at_ms: service.nowMs,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

export interface ServiceChange {
  readonly definition?: Readonly<Record<string, unknown>>;
  readonly baseEnvironment?: Readonly<Record<string, string>>;
  readonly desiredState?: "running" | "stopped";
}

/** Grows the version. */
export const changeService = (
  db: Transaction,
  id: string,
  change: ServiceChange,
  nowMs: number,
): Promise<ServiceRow> =>
  db
    .updateTable("services")
    .set((all) => ({
      ...(change.definition === undefined ? {} : { definition: change.definition }),
      ...(change.baseEnvironment === undefined ? {} : { base_environment: change.baseEnvironment }),
      ...(change.desiredState === undefined ? {} : { desired_state: change.desiredState }),
      version: all("version", "+", 1),
      updated_at_ms: nowMs,
    }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

export const listServicesOfProjects = (
  db: Database | Transaction,
  projectIds: readonly string[],
): Promise<ServiceRow[]> =>
  projectIds.length === 0
    ? Promise.resolve([])
    : db.selectFrom("services").selectAll().where("project_id", "in", projectIds).orderBy("name").execute();

export const deleteServicesOfProject = async (db: Transaction, projectId: string): Promise<void> => {
  await db.deleteFrom("services").where("project_id", "=", projectId).execute();
};

export const deleteService = async (db: Transaction, id: string): Promise<void> => {
  await db.deleteFrom("services").where("id", "=", id).execute();
};

export const deleteServices = async (db: Transaction, computerId: string): Promise<void> => {
  await db.deleteFrom("services").where("computer_id", "=", computerId).execute();
};

/**
 * A new cell starts its services with the computer's environment of now. A change is a new revision, so that a set that was read before it
 * cannot come after it.
 */
export const renewEnvironments = (store: Store, computerId: string): Promise<void> =>
  store.transaction(async (transaction) => {
    // The computer's row first, as all others take them.
    await nextRevision(transaction, computerId);
    await transaction
      .updateTable("services")
      .from("computers")
      .set((all) => ({ base_environment: all.ref("computers.environment") }))
      .where("services.id", "in", oldEnvironments(transaction, computerId))
      .whereRef("computers.id", "=", "services.computer_id")
      .execute();
  });

/** Whether a service of the computer has another environment than the computer by now. Mostly none has, and renewing locks. */
export const hasOldEnvironments = async (db: Database, computerId: string): Promise<boolean> =>
  (await oldEnvironments(db, computerId).limit(1).execute()).length > 0;

const oldEnvironments = (db: Database | Transaction, computerId: string) =>
  db
    .selectFrom("services")
    .innerJoin("computers", "computers.id", "services.computer_id")
    .select("services.id")
    .where("computers.id", "=", computerId)
    .whereRef("services.base_environment", "is distinct from", "computers.environment");

/** The next revision of a computer's set of services: the agent refuses an older one, whatever overtakes what. */
export const nextRevision = async (db: Transaction, computerId: string): Promise<number> =>
  (
    await db
      .updateTable("computers")
      .set((all) => ({ services_revision: all("services_revision", "+", 1) }))
      .where("id", "=", computerId)
      .returning("services_revision")
      .executeTakeFirstOrThrow()
  ).services_revision;

/** False when this state was told of before. */
export const tellServiceState = async (db: Transaction, id: string, state: string): Promise<boolean> => {
  const result = await db
    .updateTable("services")
    .set({ told_state: state })
    .where("id", "=", id)
    .where("told_state", "<>", state)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
};
