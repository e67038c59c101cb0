import { createHash } from "node:crypto";
import process from "node:process";
import type { Writable } from "node:stream";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { CrashPoint } from "@holdfast/kit";
import type pg from "pg";
import { asStoreError } from "./errors.ts";
import { storable } from "./storable.ts";

/** Names of prepared statements, by text. Statements past the limit (varying lists) go unprepared. */
export type StatementNames = (sql: string) => string | undefined;

const preparedLimit = 300;

export const createStatementNames = (): StatementNames => {
  const names = new Map<string, string>();
  return (sql) => {
    const known = names.get(sql);
    if (known !== undefined || names.size >= preparedLimit) return known;
    const name = `s${createHash("sha256").update(sql).digest("hex").slice(0, 24)}`;
    names.set(sql, name);
    return name;
  };
};

/** Sends at once; on a pipelined connection it does not wait for the statements before it. */
export const send = (
  client: pg.ClientBase,
  names: StatementNames,
  query: CompiledQuery,
): Promise<pg.QueryResult> => {
  gather(client);
  const name = names(query.sql);
  const config = { text: query.sql, values: query.parameters.map(storable) };
  return client.query(name === undefined ? config : { ...config, name });
};

/**
 * What is sent on a connection until nothing is left to do in this turn leaves in one write. Each write wakes the database up: a creation made
 * seventeen of them, and has six.
 */
export const gather = (client: pg.ClientBase): void => {
  const { connection } = client as pg.ClientBase & { readonly connection?: { readonly stream: Writable } };
  const stream = connection?.stream;
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
};

/**
 * Kysely's own Postgres driver is not used: it waits for `begin` and `commit` apart from the statements between them, and sends no
 * prepared statements. Together they cost an operation about half a millisecond.
 */
export const poolDialect = (pool: pg.Pool, names: StatementNames, crashPoint: CrashPoint): Dialect =>
  dialect(
    () => pool.connect(),
    (client, broken) => client.release(broken),
    names,
    crashPoint,
  );

/** Everything on one connection, whose transaction is begun and ended by `openStore`. */
export const clientDialect = (client: pg.PoolClient, names: StatementNames): Dialect =>
  dialect(
    () => Promise.resolve(client),
    () => {},
    names,
    // The transaction has points of its own.
    () => {},
  );

const dialect = (
  acquire: () => Promise<pg.PoolClient>,
  release: (client: pg.PoolClient, broken: boolean) => void,
  names: StatementNames,
  crashPoint: CrashPoint,
): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createDriver: (): Driver => ({
    init: () => Promise.resolve(),
    acquireConnection: async () => {
      try {
        return new Connection(await acquire(), names, crashPoint);
      } catch (error) {
        throw asStoreError(error);
      }
    },
    releaseConnection: (connection) => {
      if (connection instanceof Connection) release(connection.client, connection.broken);
      return Promise.resolve();
    },
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    destroy: () => Promise.resolve(),
  }),
});

const refuse = (): Promise<void> =>
  Promise.reject(new TypeError("transactions are begun by Store.transaction"));

class Connection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  readonly #names: StatementNames;
  readonly #crashPoint: CrashPoint;
  broken = false;

  constructor(client: pg.PoolClient, names: StatementNames, crashPoint: CrashPoint) {
    this.client = client;
    this.#names = names;
    this.#crashPoint = crashPoint;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      const changes = !query.sql.startsWith("select");
      if (changes) this.#crashPoint("store-before-statement");
      const result = await send(this.client, this.#names, query);
      if (changes) this.#crashPoint("store-after-statement");
      return { rows: result.rows as R[], numAffectedRows: BigInt(result.rowCount ?? 0) };
    } catch (error) {
      const mapped = asStoreError(error);
      this.broken = mapped !== error;
      throw mapped;
    }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError("no cursors on pipelined connections: read in pages");
  }
}
