import { type Selectable, sql } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type DeploymentRow = Selectable<Tables["deployments"]>;

/** Writes it down and lets go of the oldest over `keep`. */
export const insertDeployment = async (
  db: Transaction,
  deployment: DeploymentRow,
  keep: number,
): Promise<void> => {
  await db.insertInto("deployments").values(deployment).execute();
  await sql`delete from deployments where project_id = ${deployment.project_id} and id <= (
    select id from deployments where project_id = ${deployment.project_id} order by id desc offset ${keep}::bigint limit 1
  )`.execute(db);
};

export const lastDeployments = async (
  db: Database | Transaction,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, DeploymentRow>> => {
  if (projectIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("deployments")
    .selectAll()
    .distinctOn("project_id")
    .where("project_id", "in", projectIds)
    .orderBy("project_id")
    .orderBy("id", "desc")
    .execute();
  return new Map(rows.map((row) => [row.project_id, row]));
};

/** The newest deployment of each of these commits. */
export const deploymentsOf = async (
  db: Database,
  projectId: string,
  commits: readonly string[],
): Promise<ReadonlyMap<string, DeploymentRow>> => {
  if (commits.length === 0) return new Map();
  const rows = await db
    .selectFrom("deployments")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("commit", "in", commits)
    .orderBy("id")
    .execute();
  return new Map(rows.map((row) => [row.commit, row]));
};

export const deploymentOfOperation = (
  db: Database | Transaction,
  operationId: string,
): Promise<DeploymentRow | undefined> =>
  db.selectFrom("deployments").selectAll().where("operation_id", "=", operationId).executeTakeFirst();
