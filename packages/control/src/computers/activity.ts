import type { Clock } from "@holdfast/kit";
import type { Activity } from "../domain/computer.ts";
import { RestingChanges } from "./resting-changes.ts";

interface Known {
  /** What is under way. */
  uses: number;
  /** Who looks at it just now, without having anything happen on it. */
  looks: number;
  /** Monotonic: when something happened last. */
  at: number;
}

/**
 * Who uses which computer, in memory. It also knows which computers are being taken down or rest: their rows, as a request may have read them
 * a moment ago, are not to be believed.
 */
export class ComputerActivity implements Activity {
  readonly #clock: Pick<Clock, "monotonic" | "after" | "now">;
  readonly #startedAt: number;
  readonly #known = new Map<string, Known>();
  /** Set before a cell is frozen or stopped, taken away when one runs again. */
  readonly #leaving = new Set<string>();
  readonly #changes: RestingChanges;

  constructor(clock: Pick<Clock, "monotonic" | "after" | "now">) {
    this.#clock = clock;
    this.#changes = new RestingChanges(clock);
    this.#startedAt = clock.monotonic();
  }

  use(computerId: string): () => void {
    const known = this.#of(computerId);
    known.uses += 1;
    return once(() => {
      known.uses -= 1;
      known.at = this.#clock.monotonic();
    });
  }

  look(computerId: string): () => void {
    const known = this.#of(computerId);
    known.looks += 1;
    return once(() => {
      known.looks -= 1;
    });
  }

  touch(computerId: string): void {
    this.#of(computerId).at = this.#clock.monotonic();
  }

  /** Something is known to have happened so long ago; what was known to be later stands. */
  touchedBefore(computerId: string, agoMs: number): void {
    const known = this.#of(computerId);
    known.at = Math.max(known.at, this.#clock.monotonic() - agoMs);
  }

  inUse(computerId: string): boolean {
    const known = this.#known.get(computerId);
    return known !== undefined && known.uses + known.looks > 0;
  }

  quietMs(computerId: string): number {
    const known = this.#known.get(computerId);
    if (known && known.uses > 0) return 0;
    return this.#clock.monotonic() - Math.max(known?.at ?? 0, this.#startedAt);
  }

  /**
   * Synchronous, right before the cell is frozen or stopped. From here on `isLeaving` sends those who come the waking way, and those who came
   * before are counted by `inUse`: nobody is in between.
   */
  leave(computerId: string): void {
    if (this.#leaving.has(computerId)) return;
    this.#leaving.add(computerId);
    this.#changes.note(computerId, true);
  }

  isLeaving(computerId: string): boolean {
    return this.#leaving.has(computerId);
  }

  /** Its cell runs. */
  stays(computerId: string): void {
    if (this.#leaving.delete(computerId)) this.#changes.note(computerId, false);
  }

  /** What has changed about who is leaving. */
  get resting(): Pick<RestingChanges, "watch"> {
    return this.#changes;
  }

  forget(computerId: string): void {
    this.#leaving.delete(computerId);
    this.#changes.forget(computerId);
    if (!this.inUse(computerId)) this.#known.delete(computerId);
  }

  #of(computerId: string): Known {
    const known = this.#known.get(computerId) ?? { uses: 0, looks: 0, at: this.#startedAt };
    this.#known.set(computerId, known);
    return known;
  }
}

const once = (end: () => void): (() => void) => {
  let over = false;
  return () => {
    if (over) return;
    over = true;
    end();
  };
};
