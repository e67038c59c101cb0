import type { Compilable, Kysely } from "kysely";
import type { Tables } from "./tables/index.ts";

/** Every statement commits by itself. */
export type Database = Kysely<Tables>;

/**
 * Statements of one transaction on one connection. Statements that do not depend on each other may be started together
 * (`Promise.all`): they travel in one flight. After one fails the rest fail too and the transaction is rolled back.
 */
export type Transaction = Kysely<Tables>;

export interface Store {
  readonly db: Database;
  /**
   * Commits when `work` returns, rolls back when it throws. `last` are statements that travel in one flight with the commit; their
   * results are not looked at. Throws `unavailable` when the database is away: what was sent may have been committed.
   */
  transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    last?: (value: T) => readonly Compilable[],
  ): Promise<T>;
}
