import { HoldfastError } from "@holdfast/contract";
import type { Store, Transaction } from "../store/transaction.ts";

interface Part {
  readonly work: (transaction: Transaction) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Parts of one commit. */
const most = 64;

/**
 * Commits what comes at the same time together: while one commit is under way the next gathers. Fifty runs that begin and end in a second need no
 * hundred commits. A part that fails takes no other with it: then each is tried alone.
 */
export class Together {
  readonly #store: Pick<Store, "transaction">;
  readonly #waiting: Part[] = [];
  #busy = false;

  constructor(store: Pick<Store, "transaction">) {
    this.#store = store;
  }

  /** As `Store.transaction`. `work` may be called once more, after what it did first was rolled back. */
  run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let parts = this.#waiting.splice(0, most); parts.length > 0; parts = this.#waiting.splice(0, most))
      await this.#commit(parts);
    this.#busy = false;
  }

  /** Never rejects: each part is told. */
  async #commit(parts: readonly Part[]): Promise<void> {
    try {
      const values = await this.#store.transaction(async (transaction) => {
        // All of them end before the transaction does: none goes on behind it.
        const ends = await Promise.allSettled(parts.map(({ work }) => work(transaction)));
        return ends.map((end) => {
          if (end.status === "rejected") throw end.reason;
          return end.value;
        });
      });
      for (const [index, part] of parts.entries()) part.resolve(values[index]);
    } catch (error) {
      const isAway = error instanceof HoldfastError && error.code === "unavailable";
      if (isAway || parts.length === 1) for (const part of parts) part.reject(error);
      else for (const part of parts) await this.#commit([part]);
    }
  }
}
