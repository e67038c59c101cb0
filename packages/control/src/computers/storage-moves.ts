import { HoldfastError, limits, type SupervisorMethods } from "@holdfast/contract";
import type { RpcClient } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import type { Restorer } from "../domain/snapshots.ts";
import type { Trees } from "../domain/trees.ts";
import { getComputer, lockComputer, observeComputer } from "../store/computers.ts";
import { computerEvent } from "./events.ts";
import { type Moved, recordMove, type RecordParts } from "./record.ts";

export interface StorageMoveParts extends RecordParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly agents: Agents;
  readonly trees: Pick<Trees, "pack" | "unpack">;
  readonly restorer: Restorer;
}

/** Unpacking holds a cell of the computer's own, whose lease it renews; packing is given up when something else is wanted. */
const lookEveryMs = 1_000;
/** The supervisor copies nothing, but syncs what is under way. */
const storageMs = 120_000;

/** The moves of a computer's disk while nothing of it runs. Each may be killed at any line and made again. */
export class StorageMoves {
  readonly #parts: StorageMoveParts;

  constructor(parts: StorageMoveParts) {
    this.#parts = parts;
  }

  /**
   * What the packed file is stands in the row before the disk is deleted, so at each line one of the two is whole and known: without a digest
   * the disk counts and packing begins anew; with one the file does.
   */
  async archive(computer: Computer): Promise<Moved> {
    const { crashPoint, supervisor } = this.#parts;
    const { id } = computer;
    let packed = computer;
    if (computer.archive === null) {
      crashPoint("computer-before-pack");
      const archive = await this.#pack(computer);
      crashPoint("computer-packed");
      const written = archive && (await this.#write(computer, archive));
      if (!written) {
        await supervisor.call("archive.drop", { computer_id: id });
        return { computer: (await getComputer(this.#parts.store.db, id)) ?? computer };
      }
      packed = written;
    }
    crashPoint("computer-before-seal");
    await supervisor.call("archive.seal", { computer_id: id }, { timeoutMs: storageMs });
    crashPoint("computer-sealed");
    return recordMove(
      this.#parts,
      packed,
      { state: "archived", attempts: 0, reason: null, failureCode: null },
      { kind: "archived", more: { bytes: packed.archive?.bytes ?? 0 } },
    );
  }

  async unarchive(computer: Computer): Promise<Moved> {
    const { crashPoint, supervisor } = this.#parts;
    const { id, archive } = computer;
    if (archive === null)
      throw new HoldfastError("internal", "it is not known what its archive should be", { computer: id });
    crashPoint("computer-before-unpack");
    if (await this.#isArchived(id)) {
      await supervisor.call("archive.unpack", { computer_id: id }, { timeoutMs: storageMs });
      crashPoint("computer-unpacking");
      await this.#unpack(computer, archive.digest);
      crashPoint("computer-unpacked");
      await supervisor.call("archive.unpacked", { computer_id: id }, { timeoutMs: storageMs });
      crashPoint("computer-archive-gone");
    }
    return recordMove(
      this.#parts,
      computer,
      { state: "stopped", cellId: null, archive: null, attempts: 0, reason: null, failureCode: null },
      { kind: "unarchived" },
    );
  }

  /** What is there now is kept as a snapshot first; then the files are replaced, whole or not at all, and then it is written down. */
  async restore(computer: Computer): Promise<Moved> {
    const { crashPoint, supervisor, store, restorer, events, clock } = this.#parts;
    const { id, restoring } = computer;
    if (restoring === null) return { computer };
    crashPoint("computer-before-restore");
    await supervisor.call(
      "snapshot.create",
      { computer_id: id, snapshot_id: restoring.id },
      { timeoutMs: storageMs },
    );
    crashPoint("computer-restore-kept");
    await supervisor.call(
      "volume.restore",
      { computer_id: id, snapshot_id: restoring.snapshotId, restore_id: restoring.id },
      { timeoutMs: storageMs },
    );
    crashPoint("computer-restored");
    const row = await store.transaction(async (transaction) => {
      const now = await lockComputer(transaction, id);
      if (now?.restoring?.id !== restoring.id) return now;
      await restorer.restored(transaction, now);
      // Who wants it awake by now does not wait for what it was. Memory is gone, so it cannot be asleep.
      const then = restoring.afterwards === "asleep" ? "stopped" : restoring.afterwards;
      const [written] = await Promise.all([
        observeComputer(
          transaction,
          id,
          {
            restoring: null,
            attempts: 0,
            reason: null,
            failureCode: null,
            ...(now.desiredState === "stopped" ? { desiredState: then } : {}),
          },
          clock.now(),
        ),
        events.append(
          transaction,
          computerEvent(now, "restored", {
            cause: "restore",
            more: { snapshot: restoring.snapshotId, before: restoring.id },
          }),
        ),
      ]);
      return written;
    });
    crashPoint("computer-recorded");
    return { computer: row ?? computer };
  }

  /** What was begun is left be, and the computer is what it was. In the caller's words why. */
  async giveUp(computer: Computer, error: HoldfastError): Promise<Computer | undefined> {
    const { supervisor, store, events, clock } = this.#parts;
    const { id, restoring } = computer;
    if (restoring === null) await supervisor.call("archive.drop", { computer_id: id });
    return store.transaction(async (transaction) => {
      const [row] = await Promise.all([
        observeComputer(
          transaction,
          id,
          {
            restoring: null,
            desiredState: restoring?.afterwards === "awake" ? "awake" : "stopped",
            reason: error.message,
            failureCode: error.code,
            attempts: 0,
          },
          clock.now(),
          computer.desiredState,
        ),
        events.append(
          transaction,
          computerEvent(computer, restoring === null ? "not_archived" : "not_restored", {
            reason: error.message,
          }),
        ),
      ]);
      return row;
    });
  }

  /** Undefined when something else was wanted before it was done. */
  async #pack(computer: Computer): Promise<NonNullable<Computer["archive"]> | undefined> {
    const { supervisor, trees } = this.#parts;
    // What an earlier try has left is of no use.
    await supervisor.call("archive.drop", { computer_id: computer.id }, { timeoutMs: storageMs });
    await supervisor.call("archive.open", { computer_id: computer.id }, { timeoutMs: storageMs });
    const over = new AbortController();
    const wanted = this.#stillArchived(computer.id, over.signal);
    const packing = trees.pack(computer.id, over.signal);
    try {
      return await Promise.race([packing, wanted]);
    } finally {
      over.abort(new HoldfastError("unavailable", "it is not to be archived any more"));
      // Its cell is shown the disk until it is gone.
      await packing.catch(() => {});
    }
  }

  /** Resolves when it is not to be archived any more. */
  async #stillArchived(id: string, signal: AbortSignal): Promise<undefined> {
    const { clock, store } = this.#parts;
    for (;;) {
      await clock.sleep(lookEveryMs, signal).catch(() => {});
      if (signal.aborted) return undefined;
      const row = await getComputer(store.db, id).catch(() => undefined);
      if (row && row.desiredState !== "archived") return undefined;
    }
  }

  #write(computer: Computer, archive: NonNullable<Computer["archive"]>): Promise<Computer | undefined> {
    const { store, clock } = this.#parts;
    return observeComputer(store.db, computer.id, { archive }, clock.now(), "archived");
  }

  async #isArchived(id: string): Promise<boolean> {
    const { volumes } = await this.#parts.supervisor.call("volume.list", {});
    const volume = volumes.find(({ computer_id }) => computer_id === id);
    if (!volume)
      throw new HoldfastError("computer_failed", "neither its disk nor its archive is on the host", {
        computer: id,
        reason: "archive_missing",
      });
    return volume.archived;
  }

  async #unpack({ id, size }: Computer, digest: string): Promise<void> {
    const { agents, supervisor, trees } = this.#parts;
    const { cell } = await supervisor.call("cell.start", {
      computer_id: id,
      size,
      lease_ms: limits.leaseMs,
      trees: [{ name: "archive", source: { archive_of: id } }],
    });
    const over = new AbortController();
    const late = new HoldfastError("timed_out", "unpacking its archive took too long");
    const cancel = this.#parts.clock.after(limits.throwawayMs, () => over.abort(late));
    const lease = this.#keepLease(id, cell.cell_id, over.signal);
    try {
      await trees.unpack(agents.of(id), digest, over.signal);
    } finally {
      cancel();
      over.abort();
      await lease;
      await supervisor.call("cell.stop", { computer_id: id });
    }
  }

  async #keepLease(computerId: string, cellId: string, signal: AbortSignal): Promise<void> {
    const { clock, supervisor } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(limits.leaseRenewMs, signal).catch(() => {});
      if (signal.aborted) return;
      await supervisor
        .call("lease.renew", {
          cells: [{ computer_id: computerId, cell_id: cellId }],
          lease_ms: limits.leaseMs,
        })
        // It is renewed again long before it ends.
        .catch(() => {});
    }
  }
}
