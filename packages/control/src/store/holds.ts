import type { Selectable } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type HoldRow = Selectable<Tables["holds"]>;

/** Those of a computer that still hold, oldest first. */
export const listHolds = (
  db: Database | Transaction,
  computerId: string,
  nowMs: number,
): Promise<HoldRow[]> =>
  living(db, nowMs).where("holds.computer_id", "=", computerId).orderBy("holds.id").execute();

export const insertHold = async (transaction: Transaction, row: HoldRow): Promise<void> => {
  await transaction.insertInto("holds").values(row).execute();
};

export const getHold = (db: Database | Transaction, id: string): Promise<HoldRow | undefined> =>
  db.selectFrom("holds").selectAll().where("id", "=", id).executeTakeFirst();

/** Undefined when it does not hold any more. */
export const renewHold = async (
  transaction: Transaction,
  which: { readonly id: string; readonly computerId: string },
  expiresAtMs: number,
  nowMs: number,
): Promise<HoldRow | undefined> => {
  const now = await living(transaction, nowMs)
    .where("holds.id", "=", which.id)
    .where("holds.computer_id", "=", which.computerId)
    .executeTakeFirst();
  return (
    now &&
    transaction
      .updateTable("holds")
      .set({ expires_at_ms: expiresAtMs })
      .where("id", "=", now.id)
      .returningAll()
      .executeTakeFirst()
  );
};

export const deleteHold = async (
  transaction: Transaction,
  which: { readonly id: string; readonly computerId: string },
): Promise<void> => {
  await transaction
    .deleteFrom("holds")
    .where("id", "=", which.id)
    .where("computer_id", "=", which.computerId)
    .execute();
};

/** Kept for a while after their end: idle time is counted from it. */
export const deleteOldHolds = async (db: Database, endedBeforeMs: number): Promise<void> => {
  await db.deleteFrom("holds").where("expires_at_ms", "<", endedBeforeMs).execute();
};

const living = (db: Database | Transaction, nowMs: number) =>
  db
    .selectFrom("holds")
    .leftJoin("processes", "processes.id", "holds.process_id")
    .selectAll("holds")
    .where("holds.expires_at_ms", ">", nowMs)
    .where((where) =>
      where.or([where("holds.process_id", "is", null), where("processes.state", "<>", "ended")]),
    );
