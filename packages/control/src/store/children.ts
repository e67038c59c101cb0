import type { Database, Transaction } from "./transaction.ts";

/** Those that are not to be destroyed. */
export const countChildren = async (db: Transaction, parentId: string): Promise<number> =>
  (
    await db
      .selectFrom("computers")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("parent_id", "=", parentId)
      .where("desired_state", "<>", "destroyed")
      .executeTakeFirstOrThrow()
  ).count;

/** Whether a computer of the principal's own, or a child of one, is called so. */
export const isNameSeen = async (db: Transaction, principalId: string, name: string): Promise<boolean> =>
  (await db
    .selectFrom("computers")
    .select("id")
    .where("name", "=", name)
    .where("desired_state", "<>", "destroyed")
    .where((where) =>
      where.or([where("principal_id", "=", principalId), where("delegator_id", "=", principalId)]),
    )
    .limit(1)
    .executeTakeFirst()) !== undefined;

/** Forks in which runs of the computer go on; also those whose run has just ended. */
export const forksOfRuns = async (db: Transaction, computerId: string): Promise<readonly string[]> =>
  (
    await db
      .selectFrom("runs")
      .innerJoin("computers as fork", "fork.id", "runs.fork_id")
      .select("fork.id")
      .where("runs.computer_id", "=", computerId)
      .where("runs.fork_id", "is not", null)
      .where("runs.fork_gone", "=", false)
      .where("fork.desired_state", "<>", "destroyed")
      .execute()
  ).map(({ id }) => id);

/** Whether a run goes on in it, or has just ended there: then it goes with that. */
export const isForkOfRun = async (db: Transaction, computerId: string): Promise<boolean> =>
  (await db
    .selectFrom("runs")
    .select("id")
    .where("fork_id", "=", computerId)
    .where("fork_gone", "=", false)
    .limit(1)
    .executeTakeFirst()) !== undefined;

/** Children that were written down while their parent's destruction was: it did not see them. */
export const listOrphans = async (db: Database, limit: number): Promise<readonly string[]> =>
  (
    await db
      .selectFrom("computers as child")
      .innerJoin("computers as parent", "parent.id", "child.parent_id")
      .select("child.id")
      .where("child.state", "<>", "destroyed")
      .where("child.desired_state", "<>", "destroyed")
      .where("parent.desired_state", "=", "destroyed")
      .limit(limit)
      .execute()
  ).map(({ id }) => id);
