import type { OperationParams } from "@holdfast/contract";
import type { Database, Transaction } from "../store/transaction.ts";
import type { Computer } from "./computer.ts";
import type { Principal } from "./principal.ts";

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

/** A schedule that a starter project comes with: as `schedule.create` takes it, without saying where. */
export type StarterSchedule = Omit<OperationParams<"schedule.create">, "computer" | "project">;

/** The schedules of a project that is just being made. Filled by `schedules/`. */
export interface ProjectSchedules {
  /**
   * Makes these, shown with the project, in the caller's transaction, which holds the locks of the computer's and the project's rows and writes
   * the project down as living. Names are those on the computer, `cwd` is whole. Throws `name_taken`, `limit_reached`, and `invalid_input`
   * for what no schedule can be; then the transaction is given up.
   */
  add(
    transaction: Transaction,
    computer: Computer,
    project: { readonly id: string },
    schedules: readonly StarterSchedule[],
    principal: Principal,
  ): Promise<void>;
}
