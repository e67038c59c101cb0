import type { Clock } from "@holdfast/kit";
import type { RestingChange, RestingWatch } from "../domain/computer.ts";

/** More than can change in a millisecond. */
const perMs = 1000;

/** The last change of each computer, in the order they came. In memory: revisions begin with the time, so another control's are higher. */
export class RestingChanges implements RestingWatch {
  readonly #clock: Pick<Clock, "after">;
  /** In the order of revisions: one that changes again goes to the end. */
  readonly #last = new Map<string, { readonly revision: number; readonly rests: boolean }>();
  readonly #waiting = new Set<() => void>();
  #revision: number;

  constructor(clock: Pick<Clock, "after" | "now">) {
    this.#clock = clock;
    this.#revision = Math.round(clock.now()) * perMs;
  }

  note(id: string, rests: boolean): void {
    this.#revision += 1;
    this.#last.delete(id);
    this.#last.set(id, { revision: this.#revision, rests });
    for (const wake of this.#waiting) wake();
  }

  forget(id: string): void {
    this.#last.delete(id);
  }

  async watch(
    after: number,
    waitMs: number,
    most: number,
    signal: AbortSignal,
  ): Promise<{ readonly next: number; readonly changes: readonly RestingChange[] }> {
    // A first question is answered at once: it tells from where to ask on.
    if (this.#revision === after && waitMs > 0) await this.#change(waitMs, signal);
    const changes: RestingChange[] = [];
    let next = this.#revision;
    for (const [id, { revision, rests }] of this.#last) {
      if (revision <= after) continue;
      if (changes.length === most) break;
      changes.push({ id, rests });
      next = changes.length === most ? revision : this.#revision;
    }
    return { next, changes };
  }

  #change(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, done);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(done);
    });
  }
}
