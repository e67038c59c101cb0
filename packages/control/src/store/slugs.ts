import type { NewProject } from "./projects.ts";
import type { Transaction } from "./transaction.ts";

/** Takes a slug that nobody ever had, or that a destroyed project of the same principal had. False when it means another's. */
export const takeSlug = async (
  db: Transaction,
  project: Pick<NewProject, "id" | "accountId" | "principalId" | "slug">,
): Promise<boolean> => {
  const taken = await db
    .insertInto("slugs")
    .values({
      slug: project.slug,
      project_id: project.id,
      principal_id: project.principalId,
      account_id: project.accountId,
    })
    .onConflict((conflict) =>
      conflict
        .column("slug")
        .doUpdateSet({ project_id: project.id })
        .where("slugs.principal_id", "=", project.principalId)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("projects")
                .select("projects.id")
                .where("projects.slug", "=", project.slug)
                .where("projects.state", "<>", "destroyed"),
            ),
          ),
        ),
    )
    .executeTakeFirst();
  return taken.numInsertedOrUpdatedRows === 1n;
};

/** After its project was deleted, which never lived: the slug means the last one that had it before, or is free again. */
export const giveBackSlug = async (db: Transaction, projectId: string, slug: string): Promise<void> => {
  const { before } = await db
    .selectFrom("projects")
    .select(({ fn }) => fn.max("id").as("before"))
    .where("slug", "=", slug)
    .where("state", "=", "destroyed")
    .executeTakeFirstOrThrow();
  if (before === null) await db.deleteFrom("slugs").where("project_id", "=", projectId).execute();
  else
    await db.updateTable("slugs").set({ project_id: before }).where("project_id", "=", projectId).execute();
};
