import { sql } from "kysely";
import type { Database, Transaction } from "./transaction.ts";

/** Counts an attempt and answers how many there were in the window, this one included, and when the window began. */
export const countAttempt = async (
  transaction: Transaction,
  subject: string,
  nowMs: number,
  windowMs: number,
): Promise<{ readonly attempts: number; readonly windowStartMs: number }> => {
  const over = sql<boolean>`login_attempts.window_start_ms <= ${nowMs - windowMs}`;
  const row = await transaction
    .insertInto("login_attempts")
    .values({ subject, window_start_ms: nowMs, attempts: 1 })
    .onConflict((conflict) =>
      conflict.column("subject").doUpdateSet({
        attempts: sql<number>`case when ${over} then 1 else login_attempts.attempts + 1 end`,
        window_start_ms: sql<number>`case when ${over} then ${nowMs} else login_attempts.window_start_ms end`,
      }),
    )
    .returning(["attempts", "window_start_ms"])
    .executeTakeFirstOrThrow();
  return { attempts: row.attempts, windowStartMs: row.window_start_ms };
};

export const forgetAttempts = async (
  transaction: Transaction,
  subjects: readonly string[],
): Promise<void> => {
  await transaction.deleteFrom("login_attempts").where("subject", "in", subjects).execute();
};

export const deleteOldAttempts = async (db: Database, beforeMs: number): Promise<void> => {
  await db.deleteFrom("login_attempts").where("window_start_ms", "<", beforeMs).execute();
};
