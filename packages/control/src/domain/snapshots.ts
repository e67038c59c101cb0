import type { Transaction } from "../store/transaction.ts";
import type { Computer } from "./computer.ts";

/** Clean copies of a computer for what runs once and leaves nothing. Filled by `snapshots/`. */
export interface Forks {
  /**
   * Writes down an ephemeral fork of a computer as it is now; the reconciler makes it, and `Computers.reach` waits for it. The same id again
   * answers the same fork. It has files and environment, and nothing runs on it by itself: no service does its work twice, and no
   * address is used up. Throws `wrong_state` for a computer without a volume, `name_taken`, `ceiling_reached`.
   */
  fork(transaction: Transaction, wanted: EphemeralFork): Promise<Computer>;
  /** Lets it be destroyed, with all that is on it. Again, and of one that never was: does nothing. */
  discard(computerId: string): Promise<void>;
}

export interface EphemeralFork {
  /** Of the fork: `cmp_…`. */
  readonly id: string;
  /** The computer that it is a copy of; locked by the caller. */
  readonly of: Computer;
  /** Unique among the computers of whose it is. */
  readonly name: string;
  readonly description: string;
  readonly lifetimeMs: number;
}

/** Where volumes of forks come from. Filled by `snapshots/`, called by the reconciler's moves. */
export interface Origins {
  /**
   * Before a volume is made from `computer.originSnapshotId`: the snapshot is there afterwards. One that was only meant for this fork is taken
   * now. May be repeated. Throws `computer_failed` when there is none any more.
   */
  ready(computer: Computer): Promise<void>;
}

/** What restoring a snapshot changes beside the files. Filled by `snapshots/`, called by the reconciler's move. */
export interface Restorer {
  /**
   * In the transaction that records that the files are restored, with the computer's row as it was before it: the snapshot of what was
   * replaced counts, and definitions are put back where that was asked for.
   */
  restored(transaction: Transaction, computer: Computer): Promise<void>;
}
