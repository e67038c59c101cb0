import { HoldfastError, type OperationOutput, type OperationParams } from "@holdfast/contract";
import { computerView, findComputer, type Reconciler } from "../computers/index.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { Restorer } from "../domain/snapshots.ts";
import { beginRestoring, changeComputer, getComputer } from "../store/computers.ts";
import { findSnapshot, getSnapshot, keepSnapshot } from "../store/snapshots.ts";
import type { Transaction } from "../store/transaction.ts";
import { storedDefinitions } from "./definitions.ts";
import { timedName } from "./names.ts";
import { placeDefinitions, type PlacingParts } from "./placing.ts";
import { refuseWithoutVolume, type Snapshots, type SnapshotsParts } from "./snapshots.ts";
import { noSnapshot, snapshotEvent } from "./view.ts";

export interface RestoringParts extends SnapshotsParts, PlacingParts {
  readonly snapshots: Snapshots;
  readonly reconciler: Pick<Reconciler, "settle">;
}

export interface AdmittedRestore {
  readonly target: string;
  readonly computer: Computer;
  /** The snapshot of what is replaced. */
  readonly before: string;
}

/**
 * Putting a computer back to a snapshot. Admission writes down what is wanted, with the row of the snapshot of what is replaced; the
 * reconciler stops the computer, has that one taken and puts the files in place, and `restored` runs in the transaction that says so.
 */
export class Restores implements Restorer {
  readonly #parts: RestoringParts;

  constructor(parts: RestoringParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    { principal, operationId }: OperationContext,
    params: OperationParams<"snapshot.restore">,
  ): Promise<AdmittedRestore> {
    const { snapshots, ceilings, ids, clock } = this.#parts;
    const computer = refuseWithoutVolume(
      await findComputer(transaction, principal, params.computer, { lock: true }),
    );
    if (computer.restoring !== null)
      throw new HoldfastError("wrong_state", `${computer.name} is being restored already`, {
        state: "restoring",
      });
    const row = await findSnapshot(transaction, computer.id, params.snapshot, { lock: true });
    if (!row) throw noSnapshot(computer, params.snapshot);
    await snapshots.refuseOver(transaction, computer);
    const nowMs = clock.now();
    await ceilings.takeSnapshot(transaction, principal, computer, nowMs);
    const id = ids("snapshot");
    await snapshots.write(transaction, computer, {
      id,
      kind: "before_restore",
      name: timedName("before-restore", nowMs, id),
      note: `Before ${row.name} was restored`,
      principalId: principal.id,
      operationId,
    });
    const restoring = await beginRestoring(
      transaction,
      computer.id,
      {
        id,
        snapshotId: row.id,
        definitions: params.what === "files_and_definitions",
        // Memory does not survive it: what slept comes back when somebody needs it.
        afterwards: computer.desiredState === "awake" ? "awake" : "stopped",
      },
      nowMs,
    );
    return { target: computer.id, computer: restoring, before: id };
  }

  /** Waits until it is done and the computer is what it was. Throws what kept it from being restored; then the computer is as it was before. */
  async await(
    { computer, before }: Pick<AdmittedRestore, "computer" | "before">,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<OperationOutput<"snapshot.restore">> {
    this.#parts.crashPoint("restore-admitted");
    const settled = this.#parts.reconciler.settle(
      computer,
      (row) =>
        row.state === "failed" ||
        row.desiredState === "destroyed" ||
        row.failureCode !== null ||
        (row.restoring?.id !== before && (row.state === row.desiredState || row.desiredState === "archived")),
      { waitMs, signal },
    );
    // Control stops; the next one goes on with it.
    const reached = await settled.catch((error: unknown) => {
      if (signal.aborted) return computer;
      throw error;
    });
    const taken = await getSnapshot(this.#parts.store.db, before);
    if (taken === undefined || (reached.restoring?.id !== before && taken.state !== "kept"))
      throw new HoldfastError(
        reached.failureCode ?? "computer_failed",
        `${reached.name} was not restored: ${reached.reason ?? "no reason is known"}`,
        { computer: reached.id, reason: reached.reason },
      );
    return { computer: computerView(reached), before };
  }

  async restored(transaction: Transaction, computer: Computer): Promise<void> {
    const { restoring } = computer;
    if (restoring === null) return;
    const { events, clock } = this.#parts;
    const before = await keepSnapshot(transaction, restoring.id, 0);
    const row = await getSnapshot(transaction, restoring.snapshotId);
    if (!row) throw new Error(`the snapshot ${restoring.snapshotId} may not go while it is being restored`);
    await events.append(
      transaction,
      ...(before ? [snapshotEvent(computer, before, "taken", { by: before.principal_id })] : []),
      snapshotEvent(computer, row, "restored", {
        before: restoring.id,
        what: restoring.definitions ? "files_and_definitions" : "files",
      }),
    );
    if (!restoring.definitions) return;
    const definitions = await storedDefinitions(transaction, row.id);
    const { environment } = definitions;
    const changed = await changeComputer(transaction, computer.id, { environment }, clock.now());
    await placeDefinitions(this.#parts, transaction, changed, definitions, {
      operationId: restoring.id,
      principalId: before?.principal_id ?? computer.principalId,
      pauseSchedules: false,
    });
  }

  /** For a repeated request and for reconciliation: what `before` was, whatever became of it. */
  async again(
    target: string,
    before: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<OperationOutput<"snapshot.restore">> {
    const computer = await getComputer(this.#parts.store.db, target);
    if (!computer)
      throw new HoldfastError("not_found", `there is no computer ${target}`, { computer: target });
    return this.await({ computer, before }, waitMs, signal);
  }
}
