import { errorTable, HoldfastError, type OperationName } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import type { OperationReconciler, Reconciled, Unsettled } from "../domain/ports.ts";
import { keepAnswer, type KeptAnswer, releaseKey } from "../store/idempotency.ts";
import { finishRecord, listRunning, lockRunning } from "../store/records.ts";
import type { Store, Transaction } from "../store/transaction.ts";

const page = 100;

export interface Reconciliation {
  /** One pass over this node's operations that were admitted, have no outcome, and that nobody here works on. */
  pass(): Promise<void>;
}

/**
 * Gives an outcome to operations that control left behind: asks the module that knows, else records `unknown`. Nothing is ever run again.
 * A module that cannot tell yet throws `unavailable` and is asked in the next pass.
 */
export const createReconciliation = (parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  readonly running: ReadonlySet<string>;
  readonly reconcilers: readonly OperationReconciler[];
}): Reconciliation => {
  const reconcilerOf = (operation: OperationName): OperationReconciler | undefined =>
    parts.reconcilers.find((reconciler) => reconciler.operations.includes(operation));
  /** Operations whose reconciliation failed: each is told of once. */
  const told = new Set<string>();
  const failed = (id: string, error: unknown): void => {
    if (error instanceof HoldfastError && error.code === "unavailable")
      return parts.logger.debug("an operation cannot be reconciled yet", { operation_id: id });
    if (told.has(id) || told.size >= page) return;
    told.add(id);
    parts.logger.error("an operation could not be reconciled", { operation_id: id, error });
  };

  const settle = (unsettled: Unsettled): Promise<void> =>
    parts.store.transaction(async (transaction) => {
      // Who worked on it may have ended since it was listed: then nothing is unsettled, and a module must not take anything back.
      if (!(await lockRunning(transaction, unsettled.operationId))) return;
      const known = await reconcilerOf(unsettled.operation)?.reconcile(transaction, unsettled);
      const wrote = await finishRecord(transaction, {
        operationId: unsettled.operationId,
        outcome: known?.outcome ?? "unknown",
        error: known?.outcome === "failed" ? known.error : null,
        target: undefined,
        durationMs: Math.min(Math.max(0, parts.clock.now() - unsettled.startedAtMs), 2 ** 31 - 1),
      });
      if (wrote) await keep(transaction, unsettled, known);
      parts.crashPoint("operation-before-reconciled");
    });

  return {
    pass: async () => {
      for (let after = ""; ; ) {
        const rows = await listRunning(parts.store.db, parts.nodeId, after, page);
        for (const row of rows) {
          if (parts.running.has(row.id)) continue;
          const unsettled: Unsettled = {
            operationId: row.id,
            operation: row.operation as OperationName,
            principalId: row.principal_id,
            target: row.target,
            startedAtMs: row.started_at_ms,
          };
          // One that fails must not keep all later ones, and the start of control, waiting.
          await settle(unsettled).catch((error: unknown) => failed(row.id, error));
        }
        const last = rows.at(-1);
        if (!last || rows.length < page) return;
        after = last.id;
      }
    },
  };
};

const keep = async (
  transaction: Transaction,
  unsettled: Unsettled,
  known: Reconciled | undefined,
): Promise<void> => {
  const id = unsettled.operationId;
  const error = known?.outcome === "failed" ? known.error : undefined;
  if (error && errorTable[error].retryable) {
    await releaseKey(transaction, id).execute();
    return;
  }
  const answer: KeptAnswer = {
    state: known?.outcome ?? "unknown",
    target: undefined,
    output: known?.outcome === "succeeded" ? (known.output ?? null) : null,
    error: error ? { code: error, message: errorTable[error].title, details: {} } : null,
  };
  await keepAnswer(transaction, id, answer).execute();
};
