import type { HoldfastError, SupervisorMethods } from "@holdfast/contract";
import { type Clock, type Logger, Recent, type RpcClient } from "@holdfast/kit";
import type { Activity, Computer, Resting } from "../domain/computer.ts";
import type { Relief } from "../domain/memory.ts";
import type { WarmCells } from "../domain/warm.ts";
import { Loop } from "../lib/loop.ts";

/** How often the host's memory is looked at. */
const everyMs = 2_000;
/** Kept free above what starting a computer leaves to the host: an eighth of that, within these bounds. */
const margin = { least: 64 * 1024 * 1024, most: 256 * 1024 * 1024 };
/** One that was used this lately is not put to sleep: it would be woken at once. */
const leastQuietMs = 10_000;
/** How long a move is waited for: freezing takes milliseconds, stopping has its grace. */
const sleepMs = 10_000;
const stopMs = 40_000;
/** Which computers were asked for their memory since they fell asleep. */
const reclaimedKept = 4_000;
/** Less is not worth another look. */
const worthBytes = 1024 * 1024;

/** Computers that something may be taken from. Filled from the store. */
export interface Candidates {
  /** Awake, and not kept so by their own setting. */
  awake(): Promise<readonly Computer[]>;
  /** The longest asleep first. */
  asleep(): Promise<readonly Computer[]>;
  /** Of these, what a hold or a process keeps awake now. */
  held(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

export interface PressureParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly candidates: Candidates;
  readonly resting: Resting;
  readonly activity: Pick<Activity, "inUse" | "quietMs">;
  readonly warm: Pick<WarmCells, "giveUp" | "waiting">;
  readonly reconciler: {
    nudge(id: string, options: { readonly urgent: boolean }): void;
    settle(
      computer: Computer,
      until: (row: Computer) => boolean,
      options: { readonly waitMs: number; readonly signal: AbortSignal },
    ): Promise<Computer>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Acts before the kernel chooses. While the host is short of memory, one thing at a time and looking again after each: warm cells are given
 * up, memory of sleeping computers is taken back, the one that was idle longest is put to sleep, the one that slept longest is stopped. What
 * is in use, held or kept awake is left alone: then who asks for more is told that the host is full.
 */
export class MemoryPressure implements Relief {
  readonly #parts: PressureParts;
  readonly #loop: Loop;
  /** Bytes that computers could not be started without. */
  readonly #asked = new Map<string, number>();
  readonly #reclaimed = new Recent<string, true>(reclaimedKept);
  #isHelpless = false;

  constructor(parts: PressureParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new Loop(
      { what: "looking after the host's memory", everyMs, restsFirst: true, clock, logger },
      () =>
        this.#look().catch((error: unknown) => {
          // What asked is tried again by itself, and refused then.
          this.#asked.clear();
          throw error;
        }),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  ask(computerId: string, refusal: HoldfastError): boolean {
    const wanted = refusal.details["wanted_bytes"];
    // Not for want of memory: of disk or of id ranges, of which nothing but a warm cell is anybody's to give up.
    if (typeof wanted !== "number" && this.#parts.warm.waiting === 0) return false;
    this.#asked.set(computerId, typeof wanted === "number" ? wanted : 0);
    this.#loop.ring();
    return true;
  }

  async #look(): Promise<void> {
    const asking = [...this.#asked];
    if (asking.some(([, bytes]) => bytes === 0)) await this.#parts.warm.giveUp();
    const wanted = Math.max(0, ...asking.map(([, bytes]) => bytes));
    while (!this.#loop.signal.aborted) {
      const short = await this.#shortBytes(wanted);
      if (short <= 0) break;
      if (await this.#relieve(wanted)) continue;
      // Once: it may stay so for long, and all else would be pushed out of the log.
      if (!this.#isHelpless)
        this.#parts.logger.warn("the host is short of memory and nothing is left to take back", {
          short_bytes: short,
        });
      this.#isHelpless = true;
      return this.#answer(asking);
    }
    this.#isHelpless = false;
    this.#answer(asking);
  }

  /** What could not be started is tried once more, whether there is room by now or not. */
  #answer(asking: readonly (readonly [string, number])[]): void {
    for (const [id] of asking) {
      this.#asked.delete(id);
      this.#parts.reconciler.nudge(id, { urgent: true });
    }
  }

  async #shortBytes(wanted: number): Promise<number> {
    const { memory } = await this.#parts.supervisor.call("info", {});
    const free = memory.available_bytes - memory.reserve_bytes;
    const kept = Math.min(margin.most, Math.max(margin.least, Math.floor(memory.reserve_bytes / 8)));
    return Math.max(wanted, kept) - free;
  }

  /** Takes back one thing, and where sleeping alone was not enough a second. Whether there was any. */
  async #relieve(wanted: number): Promise<boolean> {
    if (await this.#parts.warm.giveUp()) return true;
    if ((await this.#reclaim()) >= worthBytes) return true;
    const slept = await this.#putToSleep();
    if (slept) {
      await this.#reclaim();
      if ((await this.#shortBytes(wanted)) <= 0) return true;
    }
    return (await this.#stopOne()) || slept;
  }

  /** Once for each time that one fell asleep. Bytes. */
  async #reclaim(): Promise<number> {
    const { candidates, supervisor } = this.#parts;
    let bytes = 0;
    for (const { id, stateSinceMs } of await candidates.asleep()) {
      const once = `${id} ${stateSinceMs}`;
      if (this.#reclaimed.get(once) === true || this.#loop.signal.aborted) continue;
      this.#reclaimed.set(once, true);
      bytes += (await supervisor.call("cell.reclaim", { computer_id: id })).reclaimed_bytes;
    }
    return bytes;
  }

  async #putToSleep(): Promise<boolean> {
    const { activity, candidates, resting } = this.#parts;
    const awake = await candidates.awake();
    const held = await candidates.held(awake.map(({ id }) => id));
    const idle = awake
      .map((computer) => ({ computer, quietMs: activity.quietMs(computer.id) }))
      .filter(({ computer, quietMs }) => quietMs >= leastQuietMs && !held.has(computer.id))
      .toSorted((one, other) => other.quietMs - one.quietMs);
    for (const { computer } of idle) {
      if (activity.inUse(computer.id) || !(await resting.rest(computer, "asleep", "memory_pressure")))
        continue;
      if ((await this.#settled(computer, "asleep", sleepMs)) === "asleep") return true;
    }
    return false;
  }

  async #stopOne(): Promise<boolean> {
    const { candidates, resting } = this.#parts;
    for (const computer of await candidates.asleep()) {
      if (!(await resting.rest(computer, "stopped", "memory_pressure"))) continue;
      if ((await this.#settled(computer, "stopped", stopMs)) === "stopped") return true;
    }
    return false;
  }

  /** Where it is once it got there, or something else is wanted of it. */
  async #settled(
    computer: Computer,
    state: "asleep" | "stopped",
    waitMs: number,
  ): Promise<Computer["state"]> {
    const row = await this.#parts.reconciler.settle(
      computer,
      (now) => now.desiredState !== state || now.state === state,
      { waitMs, signal: this.#loop.signal },
    );
    return row.state;
  }
}
