import type { Principal } from "../domain/principal.ts";
import { noProject } from "../domain/project.ts";
import { findVisibleProject, type ProjectRow, type WhichProject } from "../store/projects.ts";
import type { Database, Transaction } from "../store/transaction.ts";

/** By id or slug. Throws `not_found`, also for what the principal may not see. */
export const findProject = async (
  db: Database | Transaction,
  principal: Principal,
  ref: string,
  which: WhichProject = {},
): Promise<ProjectRow> => {
  const project = await findVisibleProject(db, principal, ref, which);
  if (!project) throw noProject(ref);
  return project;
};
