/** A first-in-first-out queue with a limit. `push` says no instead of growing; `next` waits for an item, the end, or the signal. */
export class BoundedQueue<T> {
  readonly #limit: number;
  readonly #items: T[] = [];
  readonly #waiting: { resolve: (item: T | undefined) => void }[] = [];
  #ended = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#items.length;
  }

  /** False when the queue is full or has ended; the item was not taken. */
  push(item: T): boolean {
    if (this.#ended) return false;
    const waiter = this.#waiting.shift();
    if (waiter) {
      waiter.resolve(item);
      return true;
    }
    if (this.#items.length >= this.#limit) return false;
    this.#items.push(item);
    return true;
  }

  /** Undefined after `end` once everything is taken, or when the signal aborts. */
  next(signal?: AbortSignal): Promise<T | undefined> {
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    if (this.#ended || signal?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const stop = () => {
        const index = this.#waiting.indexOf(waiter);
        if (index >= 0) this.#waiting.splice(index, 1);
        resolve(undefined);
      };
      const waiter = {
        resolve: (item: T | undefined) => {
          signal?.removeEventListener("abort", stop);
          resolve(item);
        },
      };
      this.#waiting.push(waiter);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  end(): void {
    this.#ended = true;
    for (const waiter of this.#waiting.splice(0)) waiter.resolve(undefined);
  }
}
