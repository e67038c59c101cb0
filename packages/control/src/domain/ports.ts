import type { ErrorCode, OperationName } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";
import type { OperationContext } from "./handler.ts";

/** What a stage says about itself: `holdfast doctor` prints it, so that nobody takes an empty stage for a guard. */
export interface StageReport {
  readonly stage: "kill_switch" | "approval" | "budget";
  /** False while nothing is built behind the stage and everything passes. */
  readonly enforced: boolean;
  readonly detail: string;
}

/** Throws `HoldfastError` when a latched stop covers the request. */
export interface KillSwitch {
  readonly report: StageReport;
  check(context: OperationContext, params: unknown): Promise<void>;
}

/** Returns when no human has to say yes, or one has. */
export interface Approvals {
  readonly report: StageReport;
  require(context: OperationContext, params: unknown): Promise<void>;
}

/** Reserves before work; the reservation is settled or released with the outcome. */
export interface Budget {
  readonly report: StageReport;
  reserve(context: OperationContext, params: unknown): Promise<Reservation>;
}

export interface Reservation {
  /** Gives back what was reserved for an operation that was not admitted. */
  release(): Promise<void>;
  settle(transaction: Transaction, outcome: "succeeded" | "failed"): Promise<void>;
}

/** An operation that was admitted and whose outcome was never recorded: control ended in between. */
export interface Unsettled {
  readonly operationId: string;
  readonly operation: OperationName;
  readonly principalId: string;
  readonly target: string | null;
  readonly startedAtMs: number;
}

/** A module's word on what became of an unsettled operation. Undefined: not known; it is recorded as `unknown`, never run again. */
export interface OperationReconciler {
  readonly operations: readonly OperationName[];
  reconcile(transaction: Transaction, unsettled: Unsettled): Promise<Reconciled | undefined>;
}

export type Reconciled =
  | { readonly outcome: "succeeded"; readonly output?: Readonly<Record<string, unknown>> }
  | { readonly outcome: "failed"; readonly error: ErrorCode };
