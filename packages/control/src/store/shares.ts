import type { Selectable } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type ShareRow = Omit<Selectable<Tables["shares"]>, "token_hash">;

const shown = [
  "id",
  "project_id",
  "label",
  "created_by",
  "created_at_ms",
  "expires_at_ms",
  "revoked_at_ms",
] as const;

/** Those that open something. Call with the project locked, where the count matters. */
export const countShares = async (
  transaction: Transaction,
  projectId: string,
  nowMs: number,
): Promise<number> => {
  const { count } = await transaction
    .selectFrom("shares")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("project_id", "=", projectId)
    .where("revoked_at_ms", "is", null)
    .where("expires_at_ms", ">", nowMs)
    .executeTakeFirstOrThrow();
  return count;
};

export const insertShare = async (
  transaction: Transaction,
  share: Omit<ShareRow, "revoked_at_ms"> & { readonly token_hash: Buffer },
): Promise<void> => {
  await transaction
    .insertInto("shares")
    .values({ ...share, revoked_at_ms: null })
    .execute();
};

/** Newest first, the revoked and expired too. */
export const listShares = (
  db: Database,
  projectId: string,
  before: string | undefined,
  limit: number,
): Promise<ShareRow[]> => {
  const query = db.selectFrom("shares").select(shown).where("project_id", "=", projectId);
  return (before === undefined ? query : query.where("id", "<", before))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
};

export const findShare = (db: Database, projectId: string, id: string): Promise<ShareRow | undefined> =>
  db
    .selectFrom("shares")
    .select(shown)
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();

export const revokeShare = async (transaction: Transaction, id: string, nowMs: number): Promise<void> => {
  await transaction
    .updateTable("shares")
    .set({ revoked_at_ms: nowMs })
    .where("id", "=", id)
    .where("revoked_at_ms", "is", null)
    .execute();
};

/** Those that have opened nothing since `beforeMs`. The visits they opened are gone by then. */
export const deleteOldShares = async (db: Database, beforeMs: number): Promise<void> => {
  await db
    .deleteFrom("shares")
    .where((where) =>
      where.or([where("expires_at_ms", "<", beforeMs), where("revoked_at_ms", "<", beforeMs)]),
    )
    .execute();
};
