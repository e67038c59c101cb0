import type { ErrorCode } from "@holdfast/contract";
import type { Selectable } from "kysely";
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
  const fresh = {
    input_digest: claim.inputDigest,
    operation_id: claim.operationId,
    state: "running" as const,
    target: null,
    output: null,
    error: null,
    expires_at_ms: claim.expiresAtMs,
  };
  const result = await db
    .insertInto("idempotency_keys")
    .values({ principal_id: claim.principalId, operation: claim.operation, key: claim.key, ...fresh })
    .onConflict((conflict) =>
      conflict
        .columns(["principal_id", "operation", "key"])
        .doUpdateSet(fresh)
        .where("idempotency_keys.expires_at_ms", "<=", claim.nowMs),
    )
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
};

export const setKeyTarget = (db: Database, operationId: string, target: string) =>
  db.updateTable("idempotency_keys").set({ target }).where("operation_id", "=", operationId);

export interface KeptAnswer {
  readonly state: "succeeded" | "failed" | "unknown";
  readonly target: string | null | undefined;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details: unknown } | null;
}

export const keepAnswer = (db: Database | Transaction, operationId: string, answer: KeptAnswer) =>
  db
    .updateTable("idempotency_keys")
    .set({
      state: answer.state,
      output: answer.output,
      error: answer.error,
      ...(answer.target === undefined ? {} : { target: answer.target }),
    })
    .where("operation_id", "=", operationId);

/** Frees the key: the operation did nothing and may be asked again. */
export const releaseKey = (db: Database | Transaction, operationId: string) =>
  db.deleteFrom("idempotency_keys").where("operation_id", "=", operationId);

export const deleteExpiredKeys = async (db: Database, nowMs: number): Promise<void> => {
  await db.deleteFrom("idempotency_keys").where("expires_at_ms", "<=", nowMs).execute();
};
