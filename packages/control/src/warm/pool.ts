import { type ComputerSize, limits } from "@holdfast/contract";
import type { Claimed, WarmCells, WarmKind } from "../domain/warm.ts";
import type { ProcessorLoad } from "../lib/processor.ts";
import type { Transaction } from "../store/transaction.ts";
import { claimWarm, listWarm, type WarmRow } from "../store/warm.ts";
import { judge, type Wanted } from "./judge.ts";
import { isNoRoom, Maker, type MakerParts } from "./maker.ts";

/** How often all of them are compared with what is on the host, whatever was heard. */
const compareEveryMs = 10_000;
/** Where none are wanted: only what an earlier setting left is looked for. */
const idleEveryMs = 60_000;
/** None is made so soon after a creation, for who makes one computer often makes the next; nor on a processor that is busier than this. */
const quietMs = 150;
const busyShare = 0.75;
/** But one is made after this, between two creations, however busy the host is. */
const patienceMs = 1_000;
/** Creations that never pause must not keep the pool from renewing the leases of what it has. */
const longestQuietMs = 60_000;
/** After the host was short of memory, or full, or something kept one from being made. */
const pauseMs = 60_000;
/** Besides what every start leaves free: enough for a few computers that somebody waits for. */
const spareBytes = 512 * 1024 * 1024;

export interface WarmPoolParts extends MakerParts {
  readonly wanted: Wanted;
  readonly load: ProcessorLoad;
}

/**
 * Keeps some blank cells started. One loop makes, compares and destroys them, one at a time and at the lowest share of the processor; claims
 * come in between and are the database's to settle.
 */
export class WarmPool implements WarmCells {
  readonly #parts: WarmPoolParts;
  readonly #maker: Maker;
  readonly #abort = new AbortController();
  /** So many of each size may be ready: without one a creation need not ask. Only a hint. */
  #hint: Record<ComputerSize, number> = { small: 0, medium: 0, large: 0 };
  #kind: WarmKind | undefined;
  #creating = 0;
  #createdAt: number;
  #pausedUntil: number;
  #renewedAt: number;
  #bell = new AbortController();
  #rung = false;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: WarmPoolParts) {
    this.#parts = parts;
    this.#maker = new Maker(parts);
    const now = parts.clock.monotonic();
    [this.#createdAt, this.#pausedUntil, this.#renewedAt] = [now - quietMs, now, now];
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#ring();
    await this.#running;
  }

  async claim(transaction: Transaction, size: ComputerSize): Promise<Claimed | undefined> {
    const kind = this.#kind;
    if (!kind || this.#hint[size] <= 0) return undefined;
    this.#hint[size] -= 1;
    this.#createdAt = this.#parts.clock.monotonic();
    this.#ring();
    return claimWarm(transaction, { nodeId: this.#parts.nodeId, size, kind });
  }

  get waiting(): number {
    return Object.values(this.#hint).reduce((sum, count) => sum + Math.max(0, count), 0);
  }

  creating(): () => void {
    this.#creating += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#creating -= 1;
      this.#createdAt = this.#parts.clock.monotonic();
      if (this.#creating === 0) this.#ring();
    };
  }

  async giveUp(): Promise<boolean> {
    const { store, clock, nodeId } = this.#parts;
    this.#pausedUntil = clock.monotonic() + pauseMs;
    this.#hint = { small: 0, medium: 0, large: 0 };
    const rows = await listWarm(store.db, nodeId);
    const waiting = rows.filter(({ state }) => state === "ready");
    for (const row of waiting) await this.#maker.destroy(row.computer_id);
    return waiting.length > 0;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#parts;
    let isFailing = false;
    while (!this.#abort.signal.aborted) {
      let waitMs = compareEveryMs;
      this.#rung = false;
      try {
        waitMs = await this.#round();
        isFailing = false;
      } catch (error) {
        // Whatever is on the host now, none is handed out that was not seen.
        this.#hint = { small: 0, medium: 0, large: 0 };
        if (isNoRoom(error)) this.#pausedUntil = clock.monotonic() + pauseMs;
        else if (!isFailing) logger.warn("keeping warm cells failed; it is tried again", { error });
        isFailing = !isNoRoom(error);
      }
      // Whoever rang makes a computer; nothing is looked at before that is over.
      if (await this.#sleep(waitMs)) await this.#quiet();
    }
  }

  /** Compares, tidies up and makes at most one. How long to wait until the next, unless somebody rings. */
  async #round(): Promise<number> {
    const { store, supervisor, wanted, nodeId, clock } = this.#parts;
    const rows = await listWarm(store.db, nodeId);
    if (rows.length === 0 && Object.values(wanted).every((count) => count === 0)) return idleEveryMs;
    const { image, policy, memory } = await supervisor.call("info", {});
    const { cells } = await supervisor.call("cell.list", {});
    const kind = { image, policy };
    const { ready, going, missing } = judge(rows, cells, kind, wanted);
    const count = (size: ComputerSize): number => ready.filter((row) => row.size === size).length;
    this.#hint = { small: count("small"), medium: count("medium"), large: count("large") };
    this.#kind = kind;
    for (const row of going) await this.#maker.destroy(row.computer_id);
    await this.#renew(ready);
    const [next] = missing;
    if (next === undefined) return compareEveryMs;
    const pausedMs = this.#pausedUntil - clock.monotonic();
    if (pausedMs > 0) return Math.min(pausedMs, compareEveryMs);
    if (memory.available_bytes < memory.reserve_bytes + spareBytes) return compareEveryMs;
    if (!(await this.#quiet())) return compareEveryMs;
    await this.#maker.make(next, kind);
    this.#hint[next] += 1;
    return missing.length > 1 ? 0 : compareEveryMs;
  }

  /** A cell whose lease ends is frozen, and then no longer good. Control renews well before. */
  async #renew(ready: readonly WarmRow[]): Promise<void> {
    const { supervisor, clock } = this.#parts;
    if (ready.length === 0 || clock.monotonic() - this.#renewedAt < limits.leaseRenewMs) return;
    const cells = ready.flatMap(({ computer_id, cell_id }) =>
      cell_id === null ? [] : [{ computer_id, cell_id }],
    );
    await supervisor.call("lease.renew", { cells, lease_ms: limits.leaseMs });
    this.#renewedAt = clock.monotonic();
  }

  /** Waits until nobody makes a computer, and then for a processor with time to spare. False when it is to end, or nobody stops. */
  async #quiet(): Promise<boolean> {
    const { clock, load } = this.#parts;
    const { signal } = this.#abort;
    const since = clock.monotonic();
    load();
    while (!signal.aborted) {
      await clock.sleep(quietMs, signal).catch(() => {});
      const isBusy = load() >= busyShare;
      const now = clock.monotonic();
      if (now - since > longestQuietMs) return false;
      if (this.#creating > 0) continue;
      const isPatient = now - since <= patienceMs;
      if (isPatient && (isBusy || now - this.#createdAt < quietMs)) continue;
      return !signal.aborted;
    }
    return false;
  }

  #ring(): void {
    this.#rung = true;
    this.#bell.abort();
  }

  /** Whether somebody rang. */
  async #sleep(ms: number): Promise<boolean> {
    if (!this.#rung && ms > 0) {
      this.#bell = new AbortController();
      await this.#parts.clock.sleep(ms, this.#bell.signal).catch(() => {});
    }
    return this.#rung;
  }
}
