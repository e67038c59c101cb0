import { HoldfastError } from "@holdfast/contract";

/** Runs so many at the same time; some more wait for their turn, in their order. */
export class FewAtOnce {
  readonly #atOnce: number;
  readonly #waiting: number;
  readonly #refusal: () => HoldfastError;
  readonly #turns: (() => void)[] = [];
  #running = 0;

  constructor(limits: { readonly atOnce: number; readonly waiting: number }, refusal = databaseBusy) {
    this.#atOnce = limits.atOnce;
    this.#waiting = limits.waiting;
    this.#refusal = refusal;
  }

  /** Those that run or wait. */
  get size(): number {
    return this.#running + this.#turns.length;
  }

  /** Throws the refusal (by itself `unavailable`), and runs nothing, when too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) {
      if (this.#turns.length >= this.#waiting) throw this.#refusal();
      // Whoever ends hands its place on.
      await new Promise<void>((resolve) => this.#turns.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#turns.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

export const databaseBusy = (): HoldfastError =>
  new HoldfastError("unavailable", "too many requests wait for the database", { part: "database" });
