import { HoldfastError, type OperationParams } from "@holdfast/contract";
import { admitComputer, nameTaken } from "../computers/admission.ts";
import { destroyWithChildren } from "../computers/destroy.ts";
import { computerEvent } from "../computers/events.ts";
import { findComputer, type Reconciler, refuseSmaller } from "../computers/index.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { EphemeralFork, Forks, Origins } from "../domain/snapshots.ts";
import { getComputer, insertComputer, type LifecycleValues, type NewComputer } from "../store/computers.ts";
import { findSnapshot, getSnapshot, isAwaited, keepSnapshot, type SnapshotRow } from "../store/snapshots.ts";
import type { Transaction } from "../store/transaction.ts";
import { type Definitions, storedDefinitions } from "./definitions.ts";
import { placeDefinitions, type PlacingParts } from "./placing.ts";
import { refuseWithoutVolume, type Snapshots, type SnapshotsParts } from "./snapshots.ts";
import { noSnapshot } from "./view.ts";

export interface ForkingParts extends SnapshotsParts, PlacingParts {
  readonly snapshots: Snapshots;
  readonly reconciler: Pick<Reconciler, "nudge" | "settle">;
  readonly nodeId: string;
}

export interface AdmittedFork {
  readonly target: string;
  readonly computer: Computer;
}

/** What a fork has of what it is made from. */
export type Copied = Required<Pick<NewComputer, "environment" | "originSnapshotId">> & {
  readonly lifecycle: LifecycleValues;
};

/**
 * Computers from the disks of others. Admission writes the new computer down whole, with copies of services, projects (private, at addresses of
 * their own) and schedules (paused); the reconciler makes its volume from the snapshot and its identity anew. Of a fork of how a computer
 * is now, the reconciler has that snapshot taken first (`ready`), so a crash anywhere loses nothing.
 */
export class Forking implements Forks, Origins {
  readonly #parts: ForkingParts;

  constructor(parts: ForkingParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    context: OperationContext,
    params: OperationParams<"computer.fork">,
  ): Promise<AdmittedFork> {
    const { principal, operationId } = context;
    const { name, description, lifetime_ms: lifetimeMs } = params;
    const of = await findComputer(transaction, principal, params.computer, { lock: true });
    await refuseSmaller(this.#parts.supervisor, of, params.size ?? of.size);
    const origin = await this.origin(transaction, context, of, params.snapshot);
    const computer = await this.write(transaction, operationId, of, origin, (copied) =>
      admitComputer(this.#parts, transaction, {
        ...copied,
        principal,
        name,
        description,
        size: params.size ?? of.size,
        environment: params.environment ?? copied.environment,
        lifetimeMs,
      }),
    );
    return { target: computer.id, computer };
  }

  /** The snapshot that is meant, locked; without `ref` one of how the locked computer is now, which is still to be taken. */
  async origin(
    transaction: Transaction,
    { principal, operationId }: Pick<OperationContext, "principal" | "operationId">,
    of: Computer,
    ref: string | undefined,
  ): Promise<SnapshotRow> {
    if (ref !== undefined) {
      const row = await findSnapshot(transaction, of.id, ref, { lock: true });
      if (!row) throw noSnapshot(of, ref);
      return row;
    }
    return this.#passing(transaction, of, principal.id, operationId);
  }

  /** `make` writes the computer's row; what belongs to it is written beside. */
  async write(
    transaction: Transaction,
    operationId: string,
    of: Computer,
    origin: SnapshotRow,
    make: (copied: Copied) => Promise<Computer>,
  ): Promise<Computer> {
    const definitions = await storedDefinitions(transaction, origin.id);
    const computer = await make(copiedOf(of, origin, definitions));
    await placeDefinitions(this.#parts, transaction, computer, definitions, {
      operationId,
      principalId: computer.principalId,
      pauseSchedules: true,
    });
    return computer;
  }

  async fork(transaction: Transaction, wanted: EphemeralFork): Promise<Computer> {
    const { clock, events, nodeId, ceilings } = this.#parts;
    const there = await getComputer(transaction, wanted.id);
    if (there) return there;
    const { of } = wanted;
    await ceilings.copyComputer(transaction, of, clock.now());
    const origin = await this.#passing(transaction, of, of.principalId, null);
    const { id, name, description, lifetimeMs } = wanted;
    try {
      const computer = await insertComputer(transaction, {
        ...copiedOf(of, origin, await storedDefinitions(transaction, origin.id)),
        id,
        name,
        description,
        accountId: of.accountId,
        nodeId,
        principalId: of.principalId,
        size: of.size,
        expiresAtMs: clock.now() + lifetimeMs,
        nowMs: clock.now(),
      });
      await events.append(transaction, computerEvent(computer, "created"));
      return computer;
    } catch (error) {
      throw nameTaken(error, name);
    }
  }

  async discard(computerId: string): Promise<void> {
    const { store, clock, reconciler } = this.#parts;
    const gone = await store.transaction((transaction) =>
      destroyWithChildren(transaction, computerId, clock.now(), "expired"),
    );
    for (const { id } of gone) reconciler.nudge(id);
  }

  /** What was only taken for this fork is not needed once that is made, or is not to be made any more. */
  async letGo(computer: Computer): Promise<void> {
    const { store, snapshots } = this.#parts;
    const origin = computer.originSnapshotId;
    const row = origin === null ? undefined : await getSnapshot(store.db, origin);
    if (row?.kind === "passing" && !(await isAwaited(store.db, row.id))) await snapshots.discard(row.id);
  }

  async ready({ id, name, originSnapshotId }: Computer): Promise<void> {
    const { store, snapshots } = this.#parts;
    const row = originSnapshotId === null ? undefined : await getSnapshot(store.db, originSnapshotId);
    if (row?.state === "kept") return;
    if (row?.state !== "taking")
      throw new HoldfastError("computer_failed", `the snapshot that ${name} is made from is gone`, {
        computer: id,
        reason: "no_snapshot",
      });
    await keepSnapshot(store.db, row.id, await snapshots.freeze(row.computer_id, row.id));
  }

  async #passing(
    transaction: Transaction,
    of: Computer,
    principalId: string,
    operationId: string | null,
  ): Promise<SnapshotRow> {
    refuseWithoutVolume(of);
    if (of.state === "archived" || of.desiredState === "archived")
      throw new HoldfastError(
        "wrong_state",
        `${of.name} is archived: wake it first, or fork one of its snapshots`,
        { state: of.state },
      );
    return this.#parts.snapshots.write(transaction, of, { kind: "passing", principalId, operationId });
  }
}

const copiedOf = (of: Computer, origin: SnapshotRow, { environment }: Definitions): Copied => ({
  environment,
  originSnapshotId: origin.id,
  lifecycle: {
    sleep_after_ms: of.sleepAfterMs ?? undefined,
    stop_after_ms: of.stopAfterMs ?? undefined,
    keep_awake: of.keepAwake,
  },
});
