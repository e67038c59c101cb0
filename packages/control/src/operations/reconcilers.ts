import type { OperationName } from "@holdfast/contract";
import type { OperationReconciler } from "../domain/ports.ts";

/** Of operations that write down at admission what they change: it holds whatever becomes of the reply. */
export const writtenAtAdmission = (...operations: readonly OperationName[]): OperationReconciler => ({
  operations,
  reconcile: (_transaction, { target }) =>
    Promise.resolve(target === null ? undefined : { outcome: "succeeded" }),
});

/** Of operations whose whole effect is in `settle`: without an outcome nothing happened, and the same request may be sent again. */
export const writtenAtSettling = (...operations: readonly OperationName[]): OperationReconciler => ({
  operations,
  reconcile: () => Promise.resolve({ outcome: "failed", error: "unavailable" }),
});
