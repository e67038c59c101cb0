import type { Clock, Logger } from "@holdfast/kit";
import { earliestSlot } from "../store/schedules.ts";
import { type Claimed, claimDue, type ClaimParts, mendSetBack } from "./claim.ts";

/** Slots that come within this of each other are claimed together: at 50 a second they are not 50 transactions. */
const gatherMs = 20;
/** The wall clock is looked at this often while nothing is due: a clock that is set ahead is noticed. */
const lookMs = 1_000;
/** The rows are looked at this often, whatever was heard of them. */
const sweepMs = 10_000;
const setBackEveryMs = 60_000;
const failedMs = 500;
/** Something changed in a transaction that is still under way. */
const soonMs: readonly number[] = [20, 200, 2_000];

export interface ClockworkParts extends ClaimParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes what was claimed; resolves when there is room for more. */
  readonly take: (claimed: Claimed) => Promise<void>;
}

/**
 * Wakes when the next slot comes: its time is in memory, so nothing is polled for and nothing is found late. Looks at the rows whenever it is told
 * to, and from time to time.
 */
export class Clockwork {
  readonly #parts: ClockworkParts;
  readonly #abort = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #nextMs: number | null = null;
  #stale = true;
  #wake: AbortController | undefined;
  #failing = false;

  constructor(parts: ClockworkParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#wake?.abort();
    await this.#loop;
  }

  /** A slot may come earlier than was known. */
  look(): void {
    this.#stale = true;
    this.#wake?.abort();
  }

  /** The same of a change that is not committed yet. */
  lookSoon(): void {
    for (const ms of soonMs) this.#parts.clock.after(ms, () => this.look());
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#parts;
    let sweepAt = clock.monotonic();
    let setBackAt = clock.monotonic();
    while (!this.#abort.signal.aborted) {
      try {
        if (clock.monotonic() >= setBackAt) {
          setBackAt = clock.monotonic() + setBackEveryMs;
          await mendSetBack(this.#parts);
        }
        if (this.#stale || clock.monotonic() >= sweepAt) {
          sweepAt = clock.monotonic() + sweepMs;
          this.#stale = false;
          this.#nextMs = await earliestSlot(this.#parts.store.db, this.#parts.nodeId);
        }
        const waitMs = this.#nextMs === null ? lookMs : this.#nextMs - clock.now();
        if (waitMs > 0) await this.#sleep(Math.min(waitMs, lookMs));
        else await this.#claim();
        this.#failing = false;
      } catch (error) {
        if (!this.#failing && !this.#abort.signal.aborted)
          logger.warn("slots of schedules were not looked at", { error });
        this.#failing = true;
        this.#stale = true;
        await this.#sleep(failedMs);
      }
    }
  }

  async #claim(): Promise<void> {
    const claimed = await claimDue(this.#parts);
    this.#stale = true;
    await this.#parts.take(claimed);
    // One that somebody else has locked is found again, and not as fast as it can be looked for.
    if (!claimed.full) await this.#pause(gatherMs);
  }

  /** Not cut short by what is heard meanwhile. */
  async #pause(ms: number): Promise<void> {
    await this.#parts.clock.sleep(ms, this.#abort.signal).catch(() => {});
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stale && !this.#failing) return;
    this.#wake = new AbortController();
    await this.#parts.clock.sleep(ms, this.#wake.signal).catch(() => {});
    this.#wake = undefined;
  }
}
