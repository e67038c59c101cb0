import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";
import type { Cause, Computer, Resting } from "../domain/computer.ts";
import { Loop } from "../lib/loop.ts";
import { desire } from "../store/computers.ts";
import { keptUntil, listDue, writeActive } from "../store/lifecycle.ts";
import type { Store } from "../store/transaction.ts";
import type { ComputerActivity } from "./activity.ts";
import { destroyWithChildren } from "./destroy.ts";
import { due, type Due, sleepAfterMs, type Spent, workedBetween } from "./due.ts";
import { awayDelay } from "./failures.ts";
import type { Reconciler } from "./reconciler.ts";

/** How late a computer may fall asleep. */
const everyMs = 2_000;
const pageRows = 500;
/** Asked of the supervisor at the same time. */
const width = 8;

export interface SleeperParts {
  readonly store: Store;
  readonly nodeId: string;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly activity: ComputerActivity;
  readonly reconciler: Pick<Reconciler, "nudge">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What computers do by themselves when nothing happens on them: sleep, stop, be archived, and end with their lifetime. It only says what is
 * wanted; the reconciler moves. The last word about falling asleep is the move's own, which looks again at who uses the computer.
 */
export class Sleeper implements Resting {
  readonly #parts: SleeperParts;
  readonly #loop: Loop;
  /** What the processors of quiet ones had done at half of their idle time. */
  readonly #spent = new Map<string, Spent>();

  constructor(parts: SleeperParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new Loop(
      { what: "looking for idle computers", everyMs, retryMs: awayDelay, restsFirst: true, clock, logger },
      () => this.look(),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async rest(computer: Computer, desired: "asleep" | "stopped", cause: Cause): Promise<boolean> {
    const { activity, clock, reconciler, store } = this.#parts;
    if (computer.state !== computer.desiredState || activity.inUse(computer.id)) return false;
    const written = await desire(store.db, computer.id, desired, clock.now(), cause, computer.desiredState);
    if (written) reconciler.nudge(computer.id);
    return written !== undefined;
  }

  /** Looks once at all whose time can be over. */
  async look(): Promise<void> {
    const { clock, nodeId, store } = this.#parts;
    const seen = new Set<string>();
    for (let after = ""; ; ) {
      const page = await listDue(store.db, { nodeId, nowMs: clock.now(), after, limit: pageRows });
      for (const { id } of page) seen.add(id);
      await this.#lookAt(page);
      after = page.at(-1)?.id ?? "";
      if (page.length < pageRows || this.#loop.signal.aborted) break;
    }
    for (const id of this.#spent.keys()) if (!seen.has(id)) this.#spent.delete(id);
  }

  async #lookAt(page: readonly Computer[]): Promise<void> {
    const { activity, clock, store } = this.#parts;
    const nowMs = clock.now();
    const awake = page.filter(({ state }) => state === "awake");
    // What is written down is older than what is known here.
    const active = awake.filter(({ id, activeAtMs }) => nowMs - activity.quietMs(id) > activeAtMs + everyMs);
    if (active.length > 0)
      await writeActive(
        store.db,
        active.map(({ id }) => ({ id, atMs: Math.round(nowMs - activity.quietMs(id)) })),
      );
    const held = await this.#held(
      page.filter(
        ({ id, state, ...computer }) =>
          state === "asleep" || (state === "awake" && activity.quietMs(id) >= sleepAfterMs(computer) / 2),
      ),
      nowMs,
    );
    const queue = [...page];
    const worker = async (): Promise<void> => {
      for (let computer = queue.shift(); computer; computer = queue.shift())
        await this.#lookAtOne(computer, held.has(computer.id));
    };
    await Promise.all(Array.from({ length: width }, worker));
  }

  /** Holds, and processes that keep it awake, are as good as a request until their end. Answers those that are held now. */
  async #held(quiet: readonly Computer[], nowMs: number): Promise<ReadonlySet<string>> {
    if (quiet.length === 0) return new Set();
    const kept = await keptUntil(
      this.#parts.store.db,
      quiet.map(({ id }) => id),
      nowMs,
    );
    for (const { computerId, untilMs } of kept)
      this.#parts.activity.touchedBefore(computerId, nowMs - untilMs);
    return new Set(kept.filter(({ untilMs }) => untilMs >= nowMs).map(({ computerId }) => computerId));
  }

  async #lookAtOne(computer: Computer, isHeld: boolean): Promise<void> {
    const { activity, clock } = this.#parts;
    const at = (quietMs: number): Due | undefined => due(computer, clock.now(), quietMs);
    // Whatever it does: its time is over, or it is not awake.
    const anyway = at(0);
    if (anyway?.desired === "stopped" && isHeld) return;
    if (anyway) return this.#want(computer, anyway);
    if (computer.state !== "awake" || !(await this.#isQuiet(computer))) return;
    const idle = at(activity.quietMs(computer.id));
    if (idle) await this.#want(computer, idle);
  }

  async #want(computer: Computer, { desired, cause }: Due): Promise<void> {
    const { clock, reconciler, store } = this.#parts;
    switch (desired) {
      case "asleep":
      case "stopped":
        await this.rest(computer, desired, cause);
        return;
      case "archived":
        if (await desire(store.db, computer.id, desired, clock.now(), cause, computer.desiredState))
          reconciler.nudge(computer.id);
        return;
      case "destroyed": {
        const gone = await store.transaction((transaction) =>
          destroyWithChildren(transaction, computer.id, clock.now(), cause),
        );
        for (const { id } of gone) reconciler.nudge(id);
      }
    }
  }

  /** Whether its processors were quiet over the second half of its idle time: looked at twice, and no more often. */
  async #isQuiet(computer: Computer): Promise<boolean> {
    const { activity, logger } = this.#parts;
    const { id } = computer;
    const afterMs = sleepAfterMs(computer);
    const quietMs = activity.quietMs(id);
    if (afterMs === 0 || computer.keepAwake || quietMs < afterMs / 2) {
      this.#spent.delete(id);
      return false;
    }
    const before = this.#spent.get(id);
    if (before && quietMs < afterMs) return false;
    try {
      const now = await this.#spend(computer);
      if (before && workedBetween(before, now)) {
        this.#spent.delete(id);
        activity.touch(id);
        return false;
      }
      // Without an earlier look there is nothing to compare with: after a start of control, or where the time was made shorter.
      if (!before || before.cellId !== now.cellId) this.#spent.set(id, now);
      return before !== undefined && before.cellId === now.cellId;
    } catch (error) {
      logger.debug("it is not known what a computer's processors do", { computer: id, error });
      return false;
    }
  }

  async #spend(computer: Computer): Promise<Spent> {
    const { clock, supervisor } = this.#parts;
    const { usage } = await supervisor.call("usage.read", { computer_id: computer.id });
    return { cpuMs: usage?.cpu_ms ?? 0, cellId: computer.cellId, at: clock.monotonic() };
  }
}
