import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";
import type { EventLog } from "../domain/events.ts";
import type { Forks } from "../domain/snapshots.ts";
import { Loop } from "../lib/loop.ts";
import { listOrphans } from "../store/children.ts";
import { getComputer } from "../store/computers.ts";
import { withdrawOfDestroyed } from "../store/offers.ts";
import { listUselessKeys, revokeKey } from "../store/principals.ts";
import {
  forgetOfDestroyed,
  getSnapshot,
  isAwaited,
  keepSnapshot,
  listUnfinished,
  type SnapshotRow,
} from "../store/snapshots.ts";
import type { Store } from "../store/transaction.ts";
import type { Snapshots } from "./snapshots.ts";
import { snapshotEvent } from "./view.ts";

export interface CaretakerParts {
  readonly store: Store;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly snapshots: Snapshots;
  readonly forks: Pick<Forks, "discard">;
  /** Finishes or takes back what became of offers that nobody works on. */
  readonly offers: { recover(): Promise<void> };
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
  /** Operations that are being worked on. */
  readonly running: ReadonlySet<string>;
}

const everyMs = 2_000;
const pageRows = 200;
/** The rest is done every so many rounds. */
const cleaningRounds = 5;

/** Judges what a crash left between a snapshot's row and the snapshot, and takes away what nobody needs any more. */
export class SnapshotCaretaker {
  readonly #parts: CaretakerParts;
  readonly #loop: Loop;
  #round = 0;

  constructor(parts: CaretakerParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new Loop({ what: "looking after snapshots", everyMs, clock, logger }, (signal) =>
      this.#pass(signal),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { store, nodeId, clock, offers } = this.#parts;
    const isCleaning = this.#round % cleaningRounds === 0;
    this.#round += 1;
    if (isCleaning) {
      await withdrawOfDestroyed(store.db, clock.now());
      await forgetOfDestroyed(store.db);
      for (const id of await listUselessKeys(store.db, pageRows))
        await store.transaction((transaction) => revokeKey(transaction, id, clock.now()));
      for (const id of await listOrphans(store.db, pageRows)) await this.#parts.forks.discard(id);
    }
    let there: ReadonlySet<string> | undefined;
    const isThere = async ({ id, kind }: SnapshotRow): Promise<boolean> => {
      // Its restore may have had it taken after all others were asked about.
      if (kind === "before_restore") there = undefined;
      // Asked for after the rows were read: what is in neither was never taken.
      there ??= new Set(
        (await this.#parts.supervisor.call("snapshot.list", {})).snapshots.map((one) => one.snapshot_id),
      );
      return there.has(id);
    };
    for (const row of await listUnfinished(store.db, nodeId, pageRows))
      if (!signal.aborted && !this.#isWorkedOn(row)) await this.#judge(row, isThere);
    await offers.recover();
  }

  #isWorkedOn(row: SnapshotRow): boolean {
    const { running, snapshots } = this.#parts;
    return (row.operation_id !== null && running.has(row.operation_id)) || snapshots.isWorkedOn(row.id);
  }

  async #judge(row: SnapshotRow, isThere: (row: SnapshotRow) => Promise<boolean>): Promise<void> {
    const { store, snapshots, logger } = this.#parts;
    if (row.state === "deleting") {
      await snapshots
        .erase(row.id)
        .catch((error: unknown) =>
          logger.debug("a snapshot is not deleted yet", { snapshot: row.id, error }),
        );
      return;
    }
    // The reconciler takes these itself, and then says so.
    const isReconcilers = row.kind === "passing" || row.kind === "before_restore";
    if (isReconcilers && (await isAwaited(store.db, row.id))) return;
    if (row.kind === "passing") return snapshots.discard(row.id);
    // One of before a restore, too: that was given up, perhaps after the files were replaced, or has ended since the row was read.
    if (await isThere(row)) return this.#keep(row);
    // It may have been kept, by who worked on it, since it was listed.
    const now = await getSnapshot(store.db, row.id);
    if (now?.state === "taking") await snapshots.discard(row.id);
  }

  async #keep(row: SnapshotRow): Promise<void> {
    const { store, events } = this.#parts;
    await store.transaction(async (transaction) => {
      const kept = await keepSnapshot(transaction, row.id, 0);
      const computer = kept && (await getComputer(transaction, row.computer_id));
      if (kept && computer)
        await events.append(transaction, snapshotEvent(computer, kept, "taken", { by: row.principal_id }));
    });
  }
}
