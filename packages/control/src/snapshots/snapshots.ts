import {
  HoldfastError,
  idPattern,
  limits,
  type OperationOutput,
  type OperationParams,
} from "@holdfast/contract";
import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import { findComputer } from "../computers/index.ts";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { ScheduleDefinitions } from "../domain/schedules.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { isUniqueViolation } from "../store/errors.ts";
import {
  beginDeleting,
  countSnapshots,
  findSnapshot,
  forgetSnapshot,
  insertSnapshot,
  isAwaited,
  keepSnapshot,
  listSnapshots,
  snapshotNameIndex,
  type SnapshotKind,
  type SnapshotRow,
} from "../store/snapshots.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import { capture } from "./capture.ts";
import { refuseLarge, storedDefinitions } from "./definitions.ts";
import { timedName } from "./names.ts";
import { noSnapshot, snapshotEvent, type SnapshotView, snapshotView } from "./view.ts";

export interface SnapshotsParts {
  readonly store: Store;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly computers: Computers;
  readonly schedules: ScheduleDefinitions;
  readonly ceilings: CeilingCheck;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
}

export interface AdmittedSnapshot {
  readonly target: string;
  readonly computer: Computer;
  readonly row: SnapshotRow;
}

/** What is to be written down as being taken. */
export interface Wanted {
  readonly id?: string;
  readonly name?: string;
  readonly note?: string;
  readonly kind: SnapshotKind;
  readonly principalId: string;
  readonly operationId: string | null;
}

/**
 * Snapshots of computers. The row is written first, with the definitions of that moment; then the supervisor takes it; then it counts. What a crash
 * leaves in between is judged by the caretaker: taken, or gone.
 */
export class Snapshots {
  readonly #parts: SnapshotsParts;
  /** Those that something here works with, though no admitted operation may say so. */
  readonly #working = new Set<string>();

  constructor(parts: SnapshotsParts) {
    this.#parts = parts;
  }

  /** Whether somebody here works with it: nobody else judges it meanwhile. */
  isWorkedOn(id: string): boolean {
    return this.#working.has(id);
  }

  async whileWorkedOn<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#working.add(id);
    try {
      return await work();
    } finally {
      this.#working.delete(id);
    }
  }

  async admit(
    transaction: Transaction,
    { principal, operationId }: OperationContext,
    params: OperationParams<"snapshot.create">,
  ): Promise<AdmittedSnapshot> {
    const computer = refuseWithoutVolume(
      await findComputer(transaction, principal, params.computer, { lock: true }),
    );
    await this.refuseOver(transaction, computer);
    await this.#parts.ceilings.takeSnapshot(transaction, principal, computer, this.#parts.clock.now());
    const { note } = params;
    const row = await this.write(transaction, computer, {
      kind: "manual",
      ...(params.name === undefined ? {} : { name: params.name }),
      note,
      principalId: principal.id,
      operationId,
    });
    return { target: row.id, computer, row };
  }

  /** `computer` is locked. Throws `name_taken`. */
  async write(transaction: Transaction, computer: Computer, wanted: Wanted): Promise<SnapshotRow> {
    const { ids, clock, schedules } = this.#parts;
    const id = wanted.id ?? ids("snapshot");
    const nowMs = clock.now();
    const name = wanted.name ?? (wanted.kind === "passing" ? id : timedName("at", nowMs, id));
    const definitions = refuseLarge(await capture(transaction, computer, schedules));
    try {
      return await insertSnapshot(transaction, {
        id,
        accountId: computer.accountId,
        computerId: computer.id,
        principalId: wanted.principalId,
        operationId: wanted.operationId,
        name,
        note: wanted.note ?? "",
        kind: wanted.kind,
        definitions,
        services: definitions.projects.reduce(
          (sum, { deployed }) => sum + (deployed?.definition.services.length ?? 0),
          definitions.services.length,
        ),
        projects: definitions.projects.length,
        schedules: definitions.schedules.length,
        nowMs,
      });
    } catch (error) {
      if (!isUniqueViolation(error, snapshotNameIndex)) throw error;
      throw new HoldfastError("name_taken", `${computer.name} has a snapshot ${name} already`, { name });
    }
  }

  /** Throws `ceiling_reached` when the computer has as many as it may. */
  async refuseOver(transaction: Transaction, computer: Computer): Promise<void> {
    const there = await countSnapshots(transaction, computer.id);
    if (there < limits.snapshotsPerComputer) return;
    throw new HoldfastError(
      "ceiling_reached",
      `${computer.name} has ${there} snapshots, which is as many as a computer may have`,
      { ceiling: "snapshots", limit: limits.snapshotsPerComputer, value: there },
    );
  }

  /**
   * Has it taken; it counts once `keep` of the answer has run. When it could not be, nothing is left of it, and that is thrown. An archived
   * computer is unpacked for it.
   */
  async take(
    { computer, row }: Pick<AdmittedSnapshot, "computer" | "row">,
    signal: AbortSignal,
  ): Promise<{ readonly row: SnapshotRow; readonly keep: (transaction: Transaction) => Promise<void> }> {
    const { computers, events, crashPoint } = this.#parts;
    crashPoint("snapshot-admitted");
    try {
      if (computer.state === "archived" || computer.desiredState === "archived")
        await computers.reach(computer, signal);
      const syncMs = await this.freeze(computer.id, row.id);
      crashPoint("snapshot-taken");
      const kept = { ...row, state: "kept" as const, sync_ms: syncMs };
      return {
        row: kept,
        keep: async (transaction) => {
          if (!(await keepSnapshot(transaction, row.id, syncMs)))
            throw new HoldfastError("unavailable", "the snapshot was given up while it was being taken");
          if (row.kind !== "passing")
            await events.append(
              transaction,
              snapshotEvent(computer, kept, "taken", { sync_ms: syncMs, by: row.principal_id }),
            );
        },
      };
    } catch (error) {
      await this.discard(row.id);
      throw error;
    }
  }

  /** The supervisor's part; answers how long it synced. May be repeated. */
  async freeze(computerId: string, snapshotId: string): Promise<number> {
    const { sync_ms: syncMs } = await this.#parts.supervisor.call(
      "snapshot.create",
      { computer_id: computerId, snapshot_id: snapshotId },
      { timeoutMs: freezeMs },
    );
    return syncMs;
  }

  /** It was not taken, and its name is free from now on. What the supervisor may have of it is taken away by the caretaker. */
  giveUp(transaction: Transaction, { row }: Pick<AdmittedSnapshot, "row">): Promise<void> {
    return beginDeleting(transaction, row.id, { untaken: true });
  }

  /** Takes it away, now or (where the supervisor does not answer) when the caretaker can. Never throws. */
  async discard(id: string): Promise<void> {
    const { store, logger } = this.#parts;
    try {
      await beginDeleting(store.db, id);
      await this.erase(id);
    } catch (error) {
      logger.info("a snapshot is taken away later", { snapshot: id, error });
    }
  }

  /** Of one that is being deleted: the snapshot itself, then its row. May be repeated. */
  async erase(id: string): Promise<void> {
    const { store, supervisor, crashPoint } = this.#parts;
    await supervisor.call("snapshot.delete", { snapshot_id: id }, { timeoutMs: freezeMs });
    crashPoint("snapshot-deleted");
    await forgetSnapshot(store.db, id);
  }

  /**
   * A snapshot of how the computer is now, for as long as `use` lasts. After a crash the caretaker takes it away. Throws as `take`, and
   * `not_found` for a computer that is destroyed meanwhile.
   */
  passing<T>(
    computer: Computer,
    { principal, operationId }: Pick<OperationContext, "principal" | "operationId">,
    signal: AbortSignal,
    use: (snapshotId: string) => Promise<T>,
  ): Promise<T> {
    const { store, ids } = this.#parts;
    const id = ids("snapshot");
    return this.whileWorkedOn(id, async () => {
      const row = await store.transaction(async (transaction) => {
        const locked = await findComputer(transaction, principal, computer.id, { lock: true });
        return this.write(transaction, refuseWithoutVolume(locked), {
          id,
          kind: "passing",
          principalId: principal.id,
          operationId,
        });
      });
      const { keep } = await this.take({ computer, row }, signal);
      try {
        await store.transaction(keep);
        return await use(id);
      } finally {
        await this.discard(id);
      }
    });
  }

  async list(
    { principal }: OperationContext,
    params: OperationParams<"snapshot.list">,
  ): Promise<{ readonly target: string; readonly output: OperationOutput<"snapshot.list"> }> {
    const computer = await this.#parts.computers.find(principal, params.computer);
    const rows = await listSnapshots(
      this.#parts.store.db,
      computer.id,
      decodeCursor(params.cursor, idPattern("snapshot")),
      params.limit + 1,
    );
    const page = pageOf(rows, params.limit, ({ id }) => id);
    return {
      target: computer.id,
      output: { snapshots: page.rows.map(snapshotView), next_cursor: page.nextCursor },
    };
  }

  async get(
    { principal }: OperationContext,
    params: OperationParams<"snapshot.get">,
  ): Promise<OperationOutput<"snapshot.get">> {
    const { row } = await this.find(principal, params.computer, params.snapshot);
    return {
      ...snapshotView(row),
      definitions: await storedDefinitions(this.#parts.store.db, row.id),
    };
  }

  /** Throws `not_found`, also for what the principal may not see. */
  async find(
    principal: OperationContext["principal"],
    computerRef: string,
    ref: string,
  ): Promise<{ readonly computer: Computer; readonly row: SnapshotRow }> {
    const computer = await this.#parts.computers.find(principal, computerRef);
    const row = await findSnapshot(this.#parts.store.db, computer.id, ref);
    if (!row) throw noSnapshot(computer, ref);
    return { computer, row };
  }

  /** From now on nobody finds it. Deleting what is being deleted already is fine. */
  async delete(
    transaction: Transaction,
    { principal }: OperationContext,
    params: OperationParams<"snapshot.delete">,
  ): Promise<AdmittedSnapshot> {
    const { events } = this.#parts;
    const computer = await findComputer(transaction, principal, params.computer, { lock: true });
    const row = await findSnapshot(transaction, computer.id, params.snapshot, { lock: true, deleting: true });
    if (!row) throw noSnapshot(computer, params.snapshot);
    if (await isAwaited(transaction, row.id))
      throw new HoldfastError(
        "wrong_state",
        `${row.name} is being restored, or made a computer of; delete it when that is done`,
        { state: "in_use" },
      );
    if (row.state === "kept") {
      await beginDeleting(transaction, row.id);
      await events.append(transaction, snapshotEvent(computer, row, "deleted", { by: principal.id }));
    }
    return { target: row.id, computer, row };
  }

  /** After `delete`: what cannot be done now is done later all the same. */
  async finishDelete({ row }: AdmittedSnapshot): Promise<SnapshotView> {
    await this.discard(row.id);
    return snapshotView(row);
  }
}

/** Syncing what has piled up may take long on a slow disk. */
const freezeMs = 120_000;

/** Throws `wrong_state` for what has nothing on disk yet. */
export const refuseWithoutVolume = (computer: Computer): Computer => {
  if (computer.image !== null && computer.state !== "creating") return computer;
  throw new HoldfastError("wrong_state", `${computer.name} is still being created`, {
    state: computer.state,
  });
};
