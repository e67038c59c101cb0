import { type ComputerSize, HoldfastError, limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import type { WarmKind } from "../domain/warm.ts";
import type { Store } from "../store/transaction.ts";
import { deleteGoing, insertMaking, markGoing, markReady } from "../store/warm.ts";

export interface MakerParts {
  readonly store: Pick<Store, "db">;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
}

/** Makes and destroys single warm cells. May be killed at any line: a row that is not `ready` is of one that is to be destroyed. */
export class Maker {
  readonly #parts: MakerParts;

  constructor(parts: MakerParts) {
    this.#parts = parts;
  }

  /**
   * `kind` was read before: a supervisor that begins to make them of something else meanwhile makes one that is taken for an old one, never
   * the other way round. Throws what kept it from being made; then nothing of it is left, or its row says that it is to go.
   */
  async make(size: ComputerSize, kind: WarmKind): Promise<void> {
    const { store, supervisor, clock, ids, nodeId, crashPoint } = this.#parts;
    const id = ids("computer");
    await insertMaking(store.db, { id, nodeId, size, kind, nowMs: clock.now() });
    crashPoint("warm-making");
    try {
      const { image } = await supervisor.call("volume.create", { computer_id: id, size });
      crashPoint("warm-volume");
      const { cell } = await supervisor.call("cell.start", {
        computer_id: id,
        size,
        lease_ms: limits.leaseMs,
        warm: true,
      });
      crashPoint("warm-started");
      await markReady(store.db, id, { image, cellId: cell.cell_id });
      crashPoint("warm-ready");
    } catch (error) {
      await this.destroy(id).catch((left: unknown) =>
        this.#parts.logger.warn("a warm cell that was not made is destroyed later", {
          computer: id,
          error: left,
        }),
      );
      throw error;
    }
  }

  /** Does nothing to one that is a computer's by now. */
  async destroy(id: string): Promise<void> {
    const { store, supervisor, crashPoint } = this.#parts;
    if (!(await markGoing(store.db, id))) return;
    crashPoint("warm-going");
    await supervisor.call("volume.destroy", { computer_id: id }, { timeoutMs: destroyMs });
    crashPoint("warm-destroyed");
    await deleteGoing(store.db, id);
  }
}

const destroyMs = 60_000;

/** Nothing is wrong with what was to be made, there is only no room for it now. */
export const isNoRoom = (error: unknown): boolean =>
  error instanceof HoldfastError && error.code === "host_full";
