import type { ComputerSize } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";
import type { Computer } from "./computer.ts";
import type { Principal } from "./principal.ts";

/** Filled by `authority/ceilings.ts`. Called in `admit`. */
export interface CeilingCheck {
  /**
   * Locks the principal's row until the transaction ends, counts its computers and their children that are not destroyed, and throws
   * `ceiling_reached` when one more, its name, its size or its disk is over a ceiling. The lock makes parallel creations take turns.
   */
  createComputer(
    transaction: Transaction,
    principal: Principal,
    wanted: { readonly name: string; readonly size: ComputerSize },
  ): Promise<void>;
  /** As `createComputer`, of a copy that is made of `of` for whose that is: by the widest of its keys that are good at `nowMs`. */
  copyComputer(transaction: Transaction, of: Computer, nowMs: number): Promise<void>;
  /** As `createComputer`, of the disk that a computer has with another size. */
  growComputer(
    transaction: Transaction,
    principal: Principal,
    computer: Computer,
    size: ComputerSize,
  ): Promise<void>;
  /** Name and size alone; throws `ceiling_reached`. */
  changeComputer(
    principal: Principal,
    wanted: { readonly name?: string | undefined; readonly size?: ComputerSize | undefined },
  ): void;
  /**
   * Locks the principal's row until the transaction ends, and throws `ceiling_reached` when one more snapshot of the computers that are its
   * own, or its children's, is over a ceiling; of a child also when it is over that of whose the parent is. Take the lock of the
   * computer's row before.
   */
  takeSnapshot(
    transaction: Transaction,
    principal: Principal,
    computer: Computer,
    nowMs: number,
  ): Promise<void>;
  /** As `takeSnapshot`, of one that nobody asks for: by the keys, good at `nowMs`, of whose the computer and its parent are. */
  keepSnapshot(transaction: Transaction, computer: Computer, nowMs: number): Promise<void>;
}
