import type { ComputerSize } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";

/** A blank cell that runs already, and the id of the computer that it becomes. */
export interface Claimed {
  readonly id: string;
  readonly image: string;
  readonly cellId: string;
}

/** Cells that are started ahead. Filled by `warm/`. */
export interface WarmCells {
  /**
   * Takes one in the transaction that inserts the computer of its id; rolled back, it waits on. Undefined where none of this size is ready
   * that was made of what is current. Two never get the same, and none waits for another.
   */
  claim(transaction: Transaction, size: ComputerSize): Promise<Claimed | undefined>;
  /** A computer is being made; call what it returns when that is over. None is started ahead meanwhile. */
  creating(): () => void;
  /** How many are ready, as far as is known. */
  readonly waiting: number;
  /** Gives all of them up, and makes none for a while: the host is short of what they hold. Whether there were any. */
  giveUp(): Promise<boolean>;
}

/** What they are made of. */
export interface WarmKind {
  readonly image: string;
  readonly policy: string;
}
