import { HoldfastError, limits, type OperationParams } from "@holdfast/contract";
import { findComputer } from "../computers/index.ts";
import { computerEvent } from "../computers/events.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { EphemeralFork, Forks, Origins } from "../domain/snapshots.ts";
import { computerNameIndex, desire, getComputer, insertComputer, type NewComputer } from "../store/computers.ts";
import { isUniqueViolation } from "../store/errors.ts";
import { countComputers, lockAccount } from "../store/principals.ts";
import { destroyProjects, touchRoute } from "../store/projects.ts";
import { findSnapshot, getSnapshot, isAwaited, keepSnapshot, type SnapshotRow } from "../store/snapshots.ts";
import type { Transaction } from "../store/transaction.ts";
import { storedDefinitions } from "./definitions.ts";
import { placeDefinitions, type PlacingParts } from "./placing.ts";
import { refuseWithoutVolume, type Snapshots, type SnapshotsParts } from "./snapshots.ts";
import { noSnapshot } from "./view.ts";

export interface ForkingParts extends SnapshotsParts, PlacingParts {
  readonly snapshots: Snapshots;
  readonly nodeId: string;
}

export interface AdmittedFork {
  readonly target: string;
  readonly computer: Computer;
}

/** What a fork is to be, beside what it is made from. */
export type Fresh = Pick<NewComputer, "id" | "principalId" | "name" | "description" | "size"> &
  Partial<Pick<NewComputer, "environment" | "expiresAtMs" | "parentId" | "delegatorId">>;

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
    const { principal } = context;
    const { ceilings, ids, clock } = this.#parts;
    const of = await findComputer(transaction, principal, params.computer, { lock: true });
    const size = params.size ?? of.size;
    await ceilings.createComputer(transaction, principal, { name: params.name, size });
    const origin = await this.origin(transaction, context, of, params.snapshot);
    const computer = await this.write(transaction, context.operationId, of, origin, {
      id: ids("computer"),
      principalId: principal.id,
      name: params.name,
      description: params.description,
      size,
      ...(params.environment === undefined ? {} : { environment: params.environment }),
      expiresAtMs: params.lifetime_ms === undefined ? null : clock.now() + params.lifetime_ms,
    });
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

  /** Throws `name_taken`. */
  async write(
    transaction: Transaction,
    operationId: string,
    of: Computer,
    origin: SnapshotRow,
    fresh: Fresh,
  ): Promise<Computer> {
    const { nodeId, clock, events } = this.#parts;
    const definitions = storedDefinitions(origin.definitions);
    try {
      const computer = await insertComputer(transaction, {
        ...fresh,
        accountId: of.accountId,
        nodeId,
        environment: fresh.environment ?? definitions.environment,
        nowMs: clock.now(),
        originSnapshotId: origin.id,
        lifecycle: {
          ...(of.sleepAfterMs === null ? {} : { sleep_after_ms: of.sleepAfterMs }),
          ...(of.stopAfterMs === null ? {} : { stop_after_ms: of.stopAfterMs }),
          keep_awake: of.keepAwake,
        },
      });
      await events.append(
        transaction,
        computerEvent(computer, "created", {
          more: { of: of.id, snapshot: origin.kind === "passing" ? null : origin.id },
        }),
      );
      await placeDefinitions(this.#parts, transaction, computer, definitions, {
        operationId,
        principalId: fresh.principalId,
        pauseSchedules: true,
      });
      return computer;
    } catch (error) {
      if (!isUniqueViolation(error, computerNameIndex)) throw error;
      throw new HoldfastError("name_taken", `there is a computer called ${fresh.name} already`, {
        name: fresh.name,
      });
    }
  }

  async fork(transaction: Transaction, wanted: EphemeralFork): Promise<Computer> {
    const { clock } = this.#parts;
    const there = await getComputer(transaction, wanted.id);
    if (there) return there;
    const { of } = wanted;
    // No key asks for it, so no key's ceilings hold: the account's do.
    await lockAccount(transaction, of.accountId);
    const now = await countComputers(transaction, of.principalId);
    if (now >= limits.computersPerAccount)
      throw new HoldfastError("ceiling_reached", `there are ${now} computers`, {
        ceiling: "computers",
        limit: limits.computersPerAccount,
        value: now,
      });
    const origin = await this.#passing(transaction, of, of.principalId, null);
    return this.write(transaction, wanted.id, of, origin, {
      id: wanted.id,
      principalId: of.principalId,
      name: wanted.name,
      description: wanted.description,
      size: of.size,
      expiresAtMs: clock.now() + wanted.lifetimeMs,
    });
  }

  async discard(computerId: string): Promise<void> {
    await this.#parts.store.transaction((transaction) => this.destroy(transaction, computerId));
  }

  /** As asked for by nobody: what was made for somebody who will never know of it. */
  async destroy(transaction: Transaction, computerId: string): Promise<void> {
    const nowMs = this.#parts.clock.now();
    if (!(await desire(transaction, computerId, "destroyed", nowMs, "expired"))) return;
    const projects = await destroyProjects(transaction, { computerId }, nowMs);
    await touchRoute(transaction, ...projects.map(({ id }) => id));
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
