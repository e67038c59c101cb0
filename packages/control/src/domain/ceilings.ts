import type { ComputerSize } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";
import type { Principal } from "./principal.ts";

/** Filled by `authority/ceilings.ts`. Called in `admit`. */
export interface CeilingCheck {
  /**
   * Locks the principal's row until the transaction ends, counts its computers that are not destroyed, and throws `ceiling_reached` when
   * one more, its name or its size is over a ceiling. The lock makes parallel creations take turns.
   */
  createComputer(
    transaction: Transaction,
    principal: Principal,
    wanted: { readonly name: string; readonly size: ComputerSize },
  ): Promise<void>;
  /** Name and size alone; throws `ceiling_reached`. */
  changeComputer(
    principal: Principal,
    wanted: { readonly name?: string | undefined; readonly size?: ComputerSize | undefined },
  ): void;
  /**
   * Locks the principal's row until the transaction ends, and throws `ceiling_reached` when one more snapshot of the computers that are its
   * own, or its children's, is over a ceiling. Take the lock of the computer's row before.
   */
  takeSnapshot(transaction: Transaction, principal: Principal): Promise<void>;
}
