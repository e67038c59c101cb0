interface Waiting {
  readonly key: string;
  readonly enter: () => void;
}

/** Lets so many through at the same time, in the order they came, and of each key only some: one that hangs holds up no other. */
export class Lane {
  readonly #most: number;
  readonly #mostOfKey: number;
  readonly #waiting: Waiting[] = [];
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(most: number, mostOfKey: number) {
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  /** Those that are in it or wait for it. */
  get size(): number {
    return this.#total + this.#waiting.length;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#isFull(key)) await new Promise<void>((enter) => this.#waiting.push({ key, enter }));
    else this.#enter(key);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  #isFull(key: string): boolean {
    return this.#total >= this.#most || (this.#running.get(key) ?? 0) >= this.#mostOfKey;
  }

  #enter(key: string): void {
    this.#total += 1;
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
  }

  #leave(key: string): void {
    this.#total -= 1;
    const rest = (this.#running.get(key) ?? 1) - 1;
    if (rest === 0) this.#running.delete(key);
    else this.#running.set(key, rest);
    const index = this.#waiting.findIndex((one) => !this.#isFull(one.key));
    const next = index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
    if (!next) return;
    this.#enter(next.key);
    next.enter();
  }
}
