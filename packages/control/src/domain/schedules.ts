import type { Database, Transaction } from "../store/transaction.ts";
import type { Computer } from "./computer.ts";

/**
 * A schedule as snapshots, forks and exports carry it: what it was declared with, and nothing of its runs. Keys of events are never in it. What comes
 * back from an exported file is a stranger's.
 */
export interface ScheduleDefinition {
  /** Unique on its computer. */
  readonly name: string;
  /** Name of the project it is shown with; null: of the computer alone. */
  readonly project: string | null;
  /** Everything else, as `schedules/` stored it. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/** The schedules of a computer as a whole. Filled by `schedules/`. */
export interface ScheduleDefinitions {
  /** In the order of names. */
  read(db: Database | Transaction, computerId: string): Promise<readonly ScheduleDefinition[]>;
  /**
   * Makes the computer's schedules equal to these, in the caller's transaction, which holds the lock of the computer's row and has written its
   * projects. One of the same name stays the one it is and is changed; `paused` ones have no slots until somebody resumes them. Throws
   * `invalid_input` for what no schedule can be, and then the transaction is given up.
   */
  replace(
    transaction: Transaction,
    computer: Computer,
    definitions: readonly ScheduleDefinition[],
    options: { readonly paused: boolean },
  ): Promise<void>;
}
