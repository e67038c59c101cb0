import type { ErrorCode } from "@holdfast/contract";
import { type Compilable, type Selectable, sql } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type KeyRow = Selectable<Tables["idempotency_keys"]>;

export interface Claim {
  readonly principalId: string;
  readonly operation: string;
  /** SHA-256 of what the caller sent, in hex: what the caller knows is not stored. */
  readonly key: string;
  readonly inputDigest: Buffer;
  readonly operationId: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

export const findKey = (
  db: Database | Transaction,
  claim: Pick<Claim, "principalId" | "operation" | "key" | "nowMs">,
): Promise<KeyRow | undefined> =>
  db
    .selectFrom("idempotency_keys")
    .selectAll()
    .where("principal_id", "=", claim.principalId)
    .where("operation", "=", claim.operation)
    .where("key", "=", claim.key)
    .where("expires_at_ms", ">", claim.nowMs)
    .executeTakeFirst();

/**
 * True when the key now belongs to this operation. Waits for a transaction that claims the same key at the same time. False when another
 * operation has it; an expired one is taken over.
 */
export const claimKey = async (db: Database | Transaction, claim: Claim): Promise<boolean> => {
  // Written out, as all statements on the path of every change: a built one costs half a millisecond until it has been built often.
  const { numAffectedRows } = await sql`
    insert into idempotency_keys (principal_id, operation, key, input_digest, operation_id, state, expires_at_ms)
    values (${claim.principalId}, ${claim.operation}, ${claim.key}, ${claim.inputDigest}, ${claim.operationId}, 'running',
      ${claim.expiresAtMs})
    on conflict (principal_id, operation, key) do update
    set input_digest = excluded.input_digest, operation_id = excluded.operation_id, state = 'running', target = null,
      output = null, error = null, expires_at_ms = excluded.expires_at_ms
    where idempotency_keys.expires_at_ms <= ${claim.nowMs}`.execute(db);
  return numAffectedRows === 1n;
};

export const setKeyTarget = (db: Database, operationId: string, target: string): Compilable => {
  const statement = sql`update idempotency_keys set target = ${target} where operation_id = ${operationId}`;
  return { compile: () => statement.compile(db) };
};

export interface KeptAnswer {
  readonly state: "succeeded" | "failed" | "unknown";
  readonly target: string | null | undefined;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details: unknown } | null;
}

/** To be executed, or to travel with a commit. */
export const keepAnswer = (
  db: Database | Transaction,
  operationId: string,
  answer: KeptAnswer,
): Compilable & { execute(): Promise<unknown> } => {
  const { state, output, error, target } = answer;
  const statement = sql`
    update idempotency_keys
    set state = ${state}, output = ${output}::jsonb, error = ${error}::jsonb,
      target = case when ${target !== undefined}::boolean then ${target ?? null} else target end
    where operation_id = ${operationId}`;
  return { compile: () => statement.compile(db), execute: () => statement.execute(db) };
};

/** Frees the key: the operation did nothing and may be asked again. */
export const releaseKey = (db: Database | Transaction, operationId: string) =>
  db.deleteFrom("idempotency_keys").where("operation_id", "=", operationId);

export const deleteExpiredKeys = async (db: Database, nowMs: number): Promise<void> => {
  await db.deleteFrom("idempotency_keys").where("expires_at_ms", "<=", nowMs).execute();
};
