import { HoldfastError } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";

/** What changes one repository goes one after the other. */
export class Turns {
  readonly #clock: Clock;
  readonly #waitMs: number;
  /** The last in each line; gone with it. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Throws `operation_running` when those before it are not done in time, and then does nothing. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: done, resolve: leave } = Promise.withResolvers<void>();
    const mine = before.then(() => done);
    this.#last.set(key, mine);
    void mine.then(() => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    });
    try {
      await this.#inTime(before);
      return await work();
    } finally {
      leave();
    }
  }

  async #inTime(before: Promise<void>): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<never>((_, reject) => {
      cancel = this.#clock.after(this.#waitMs, () =>
        reject(
          new HoldfastError("operation_running", "another operation is working on this project", {
            retry_after_ms: 1000,
          }),
        ),
      );
    });
    await Promise.race([before, late]).finally(cancel);
  }
}
