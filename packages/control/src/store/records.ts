import type { ErrorCode } from "@holdfast/contract";
import { type Compilable, sql } from "kysely";
import type { Database, Transaction } from "./transaction.ts";

/** One operation, as its record begins. */
export interface NewRecord {
  readonly id: string;
  readonly accountId: string;
  readonly nodeId: string;
  /** An operation's name, what root did on the launcher's socket, or `mcp.request`: refused before it was known what was asked. */
  readonly operation: string;
  readonly principalId: string;
  readonly credentialId: string;
  readonly source: string;
  readonly target: string | null;
  readonly inputDigest: Buffer;
  readonly startedAtMs: number;
}

export interface FinishedRecord extends NewRecord {
  readonly outcome: "succeeded" | "failed" | "refused" | "unknown";
  readonly error: ErrorCode | null;
  readonly durationMs: number;
}

/** How a running operation ended. */
export interface Ending {
  readonly operationId: string;
  readonly outcome: "succeeded" | "failed" | "unknown";
  readonly error: ErrorCode | null;
  /** Undefined keeps what was recorded at admission. */
  readonly target: string | null | undefined;
  readonly durationMs: number | null;
}

/** The admitted record, to travel with the commit of its transaction; with its outcome where that is known by then. */
export const insertBegun = (db: Database, record: NewRecord, durationMs: number | null): Compilable => {
  const outcome = durationMs === null ? "running" : "succeeded";
  const statement = sql`
    insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, target, outcome,
      input_digest, started_at_ms, duration_ms)
    values (${record.id}, ${record.accountId}, ${record.nodeId}, ${record.operation}, ${record.principalId},
      ${record.credentialId}, ${record.source}, ${record.target}, ${outcome}, ${record.inputDigest}, ${record.startedAtMs},
      ${durationMs})`;
  return { compile: () => statement.compile(db) };
};

/** As `finishRecord`, but as a statement that fails when the outcome is recorded already (`isSettledAlready`), and the transaction with it. */
export const finishOrFail = (db: Database, ending: Ending): Compilable => {
  const statement = sql`
    select finish_operation(${ending.operationId}, ${ending.outcome}, ${ending.error}, ${ending.target ?? null},
      ${ending.target !== undefined}, ${ending.durationMs}::integer)`;
  return { compile: () => statement.compile(db) };
};

/** False when the outcome is recorded already: the caller's transaction must not apply the change a second time. */
export const finishRecord = async (db: Database | Transaction, ending: Ending): Promise<boolean> => {
  const result = await db
    .updateTable("operations")
    .set({
      outcome: ending.outcome,
      error: ending.error,
      duration_ms: ending.durationMs,
      ...(ending.target === undefined ? {} : { target: ending.target }),
    })
    .where("id", "=", ending.operationId)
    .where("outcome", "=", "running")
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
};

/** Finished records, any number in one statement. A record that is there already (a retry after a lost answer) is left alone. */
export const insertFinished = async (
  db: Database | Transaction,
  records: readonly FinishedRecord[],
): Promise<void> => {
  const column = <T>(pick: (record: FinishedRecord) => T): T[] => records.map(pick);
  await sql`
    insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, target, outcome, error,
      input_digest, started_at_ms, duration_ms)
    select * from unnest(
      ${column((record) => record.id)}::text[], ${column((record) => record.accountId)}::text[],
      ${column((record) => record.nodeId)}::text[], ${column((record) => record.operation)}::text[],
      ${column((record) => record.principalId)}::text[], ${column((record) => record.credentialId)}::text[],
      ${column((record) => record.source)}::text[], ${column((record) => record.target)}::text[],
      ${column((record) => record.outcome)}::text[], ${column((record) => record.error)}::text[],
      ${column((record) => record.inputDigest)}::bytea[], ${column((record) => record.startedAtMs)}::bigint[],
      ${column((record) => record.durationMs)}::integer[])
    on conflict (id) do nothing`.execute(db);
};

export interface RecordFilter {
  readonly accountId: string;
  /** Only of this principal; null for all of the account. */
  readonly principalId: string | null;
  readonly target: string | undefined;
  readonly operation: string | undefined;
  readonly outcome: FinishedRecord["outcome"] | "running" | undefined;
  /** Only records before this id, and not before that one. */
  readonly before: string | undefined;
  readonly from?: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export const listRecords = (db: Database, filter: RecordFilter) => {
  let query = indexed(db, filter).selectAll();
  if (filter.from !== undefined) query = query.where("id", ">=", filter.from);
  if (filter.target !== undefined) query = query.where("target", "=", filter.target);
  if (filter.operation !== undefined) query = query.where("operation", "=", filter.operation);
  if (filter.outcome !== undefined) query = query.where("outcome", "=", filter.outcome);
  return query.orderBy("id", "desc").limit(filter.limit).execute();
};

/**
 * Where a search that may find nothing has to pause: the id of the `many`-th record from `before` on that there is to look at; undefined when
 * there are fewer.
 */
export const searchPause = async (
  db: Database,
  filter: RecordFilter,
  many: number,
): Promise<string | undefined> => {
  const query = indexed(db, filter).select("id").orderBy("id", "desc").offset(many).limit(1);
  return (await query.executeTakeFirst())?.id;
};

/** What an index finds of it: one principal's, or one target's, or all; the rest is looked at row by row. */
const indexed = (db: Database, { accountId, principalId, target, before }: RecordFilter) => {
  let query = db.selectFrom("operations").where("account_id", "=", accountId);
  if (principalId !== null) query = query.where("principal_id", "=", principalId);
  else if (target !== undefined) query = query.where("target", "=", target);
  return before === undefined ? query : query.where("id", "<", before);
};

/** Operations of this node that were admitted and have no outcome, oldest first. */
export const listRunning = (db: Database, nodeId: string, after: string, limit: number) =>
  db
    .selectFrom("operations")
    .selectAll()
    .where("node_id", "=", nodeId)
    .where("outcome", "=", "running")
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();

/** Locks it until the transaction ends. False when its outcome is recorded by now. */
export const lockRunning = async (db: Transaction, id: string): Promise<boolean> =>
  (await db
    .selectFrom("operations")
    .select("id")
    .where("id", "=", id)
    .where("outcome", "=", "running")
    .forUpdate()
    .executeTakeFirst()) !== undefined;

/** Records that are forgotten in one statement: a long one would hold up who writes. */
const forgottenAtOnce = 5000;

/**
 * Forgets the oldest finished records, a few thousand at a time. Ids are time-ordered, so the oldest are the first of the primary key. True
 * when there were some: there may be more.
 */
export const deleteOldRecords = async (db: Database, beforeMs: number): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    delete from operations using (select id from operations order by id limit ${forgottenAtOnce}) as oldest
    where operations.id = oldest.id and operations.started_at_ms < ${beforeMs} and operations.outcome <> 'running'`.execute(
    db,
  );
  return numAffectedRows !== undefined && numAffectedRows > 0n;
};
