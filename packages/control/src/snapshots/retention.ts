import { HoldfastError } from "@holdfast/contract";
import { type Clock, type Logger, type NewId, Recent } from "@holdfast/kit";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computer } from "../domain/computer.ts";
import { Loop } from "../lib/loop.ts";
import { getComputer, lockComputer } from "../store/computers.ts";
import { isAwaited, listRetaining, listSurplus, newestOfKind, type SnapshotRow } from "../store/snapshots.ts";
import type { Store } from "../store/transaction.ts";
import { type Slot, slotName } from "./names.ts";
import type { Snapshots } from "./snapshots.ts";

export interface RetentionParts {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly ceilings: Pick<CeilingCheck, "keepSnapshot">;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
}

/** An hour's snapshot is taken within this time of its begin. */
const everyMs = 30_000;
const pageRows = 500;
/** Computers whose slot could not be taken: each slot is told of once. */
const told = 1000;
const slots: readonly Slot[] = ["hourly", "daily", "weekly"];

/**
 * Automatic snapshots: one for each hour, day and week of UTC in which the computer was awake or has changed, and the oldest over what is kept taken
 * away. The slot is the name, and names are unique, so there is one for each whoever takes it.
 */
export class Retention {
  readonly #parts: RetentionParts;
  readonly #told = new Recent<string, true>(told);
  readonly #loop: Loop;

  constructor(parts: RetentionParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new Loop(
      { what: "looking for automatic snapshots that are due", everyMs, clock, logger },
      (signal) => this.#pass(signal),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop(new HoldfastError("unavailable", "control is shutting down"));
  }

  /** One look at all computers of this node. */
  async #pass(signal: AbortSignal): Promise<void> {
    const { store, nodeId, logger } = this.#parts;
    for (let after = ""; !signal.aborted; ) {
      const ids = await listRetaining(store.db, nodeId, after, pageRows);
      for (const id of ids) {
        if (signal.aborted) return;
        await this.#look(id).catch((error: unknown) =>
          logger.warn("the automatic snapshots of a computer could not be looked at", {
            computer: id,
            error,
          }),
        );
      }
      after = ids.at(-1) ?? "";
      if (ids.length < pageRows) return;
    }
  }

  async #look(id: string): Promise<void> {
    const { store, clock } = this.#parts;
    const computer = await getComputer(store.db, id);
    if (!computer) return;
    for (const slot of slots) {
      const keep = keptOf(computer, slot);
      const newest = await newestOfKind(store.db, id, slot);
      if (keep > 0 && isDue(computer, newest, slotName(slot, clock.now()))) await this.#take(computer, slot);
      if (newest) await this.#prune(computer, slot, keep);
    }
  }

  async #take(computer: Computer, slot: Slot): Promise<void> {
    const { store, snapshots, ceilings, ids, clock, logger } = this.#parts;
    const id = ids("snapshot");
    const name = slotName(slot, clock.now());
    try {
      await snapshots.whileWorkedOn(id, async () => {
        const row = await store.transaction(async (transaction) => {
          const locked = await lockComputer(transaction, computer.id);
          if (!locked || !isTakeable(locked)) return undefined;
          await snapshots.refuseOver(transaction, locked);
          await ceilings.keepSnapshot(transaction, locked, clock.now());
          const { principalId } = locked;
          return snapshots.write(transaction, locked, {
            id,
            name,
            kind: slot,
            principalId,
            operationId: null,
          });
        });
        if (!row) return;
        const { keep } = await snapshots.take({ computer, row }, this.#loop.signal);
        await store.transaction(keep);
      });
    } catch (error) {
      const key = `${computer.id} ${name}`;
      if (this.#told.get(key) || this.#loop.signal.aborted) return;
      this.#told.set(key, true);
      logger.warn("an automatic snapshot was not taken", { computer: computer.id, name, error });
    }
  }

  async #prune(computer: Computer, slot: Slot, keep: number): Promise<void> {
    const { store, snapshots } = this.#parts;
    for (const id of await listSurplus(store.db, computer.id, slot, keep))
      if (!(await isAwaited(store.db, id))) await snapshots.discard(id);
  }
}

const keptOf = (computer: Computer, slot: Slot): number =>
  ({ hourly: computer.keepHourly, daily: computer.keepDaily, weekly: computer.keepWeekly })[slot];

const isTakeable = (computer: Computer): boolean =>
  computer.image !== null &&
  computer.restoring === null &&
  computer.state !== "creating" &&
  computer.state !== "archived" &&
  computer.desiredState !== "archived" &&
  computer.desiredState !== "destroyed";

/** What is not awake has not changed since it was last used. */
const isDue = (computer: Computer, newest: SnapshotRow | undefined, name: string): boolean =>
  isTakeable(computer) &&
  newest?.name !== name &&
  (!newest ||
    computer.state === "awake" ||
    Math.max(computer.activeAtMs, computer.stateSinceMs) > newest.taken_at_ms);
