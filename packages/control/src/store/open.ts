import { HoldfastError } from "@holdfast/contract";
import type { CrashPoint, Logger } from "@holdfast/kit";
import { type Compilable, type CompiledQuery, Kysely } from "kysely";
import pg from "pg";
import { asStoreError } from "./errors.ts";
import { clientDialect, createStatementNames, gather, poolDialect, send } from "./driver.ts";
import type { Store, Transaction } from "./transaction.ts";
import type { Tables } from "./tables/index.ts";

export interface OpenStore extends Store {
  close(): Promise<void>;
}

/** Settings of every connection: nothing may hold a lock or wait for one without end. */
const settings = [
  "lock_timeout=10000",
  "statement_timeout=30000",
  "idle_in_transaction_session_timeout=30000",
  "timezone=UTC",
  // Plans of prepared statements are made once: the hot statements touch one row by its key.
  "plan_cache_mode=force_generic_plan",
  "jit=off",
]
  .map((setting) => `-c ${setting}`)
  .join(" ");

/** Connection settings shared by the pool, the migrations and the listener. */
export const clientConfig = (url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: "holdfast-control",
  options: settings,
  keepAlive: true,
});

/**
 * Opens the pool lazily: Postgres may be away, statements then fail with `unavailable` until it is back. `bigint` columns come as numbers
 * (all of ours are Unix milliseconds or counters below 2^53).
 */
export const openStore = (options: {
  readonly url: string;
  readonly logger: Logger;
  readonly connections?: number;
  /** Around each commit, and each statement that is a commit of its own. */
  readonly crashPoint?: CrashPoint;
}): OpenStore => {
  const pool = new pg.Pool({
    ...clientConfig(options.url),
    pipeline: true,
    max: options.connections ?? 8,
    min: 1,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 5000,
    types: { getTypeParser: typeParser },
  } as pg.PoolConfig);
  // The pool listens only while a connection is idle. One that is broken off while in use says so here and to the statement under way;
  // without a listener Node would end the program.
  pool.on("connect", (client) => {
    client.on("error", (error) => options.logger.debug("a database connection broke", { error }));
  });
  pool.on("error", (error) => options.logger.debug("an idle database connection broke", { error }));

  const names = createStatementNames();
  const crashPoint = options.crashPoint ?? (() => {});
  const db = new Kysely<Tables>({ dialect: poolDialect(pool, names, crashPoint) });
  const bound = new WeakMap<pg.PoolClient, Transaction>();
  const transactionOn = (client: pg.PoolClient): Transaction => {
    const known = bound.get(client) ?? new Kysely<Tables>({ dialect: clientDialect(client, names) });
    bound.set(client, known);
    return known;
  };

  const transaction = async <T>(
    work: (transaction: Transaction) => Promise<T>,
    last?: (value: T) => readonly Compilable[],
  ): Promise<T> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw asStoreError(error);
    });
    let broken = false;
    try {
      // Not awaited: `begin` travels with the first statement, and the last ones with `commit`.
      gather(client);
      const began = client.query("begin");
      began.catch(() => {});
      const value = await work(transactionOn(client));
      const final: CompiledQuery[] = (last?.(value) ?? []).map((query) => query.compile());
      const sent = final.map((query) => send(client, names, query));
      crashPoint("store-before-commit");
      gather(client);
      const [committed] = await Promise.all([client.query("commit"), began, ...sent]);
      if (committed.command !== "COMMIT")
        throw new HoldfastError("unavailable", "the database rolled the transaction back");
      crashPoint("store-committed");
      return value;
    } catch (error) {
      broken = await client.query("rollback").then(
        () => false,
        () => true,
      );
      throw asStoreError(error);
    } finally {
      client.release(broken);
    }
  };

  return {
    db,
    transaction,
    close: async () => {
      await pool.end();
    },
  };
};

const int8 = 20;
const typeParser: pg.CustomTypesConfig["getTypeParser"] = (oid, format) =>
  oid === int8 ? Number : (pg.types.getTypeParser(oid, format as "text") as (value: string) => unknown);
