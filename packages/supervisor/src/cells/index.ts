import { computerSizes, HoldfastError, type CellView, type ComputerSize } from "@holdfast/contract";
import type { CellUsage } from "../cgroups/index.ts";
import { createBound, createTurns } from "../lib/turns.ts";
import { adoptCells } from "./adopt.ts";
import { viewOf, type Cell } from "./cell.ts";
import { createLeftovers } from "./leftovers.ts";
import type { CellParts } from "./parts.ts";
import { type CellWishes, createStarter, limitsOf } from "./start.ts";
import { createTakeDown } from "./take-down.ts";

/** The running computers of this host. Calls about one computer happen one after the other; every call may be repeated. */
export interface Cells {
  /**
   * Starts, thaws, or finds running. A warm one that is started without `warm` is a computer's from then on, and made anew if image, policy
   * or agent are others by now. Throws `not_found` without a volume, `host_full`, `computer_failed` naming the step, or while its last cell
   * cannot be taken away.
   */
  start(
    computerId: string,
    size: ComputerSize,
    leaseMs: number,
    wishes?: CellWishes,
  ): Promise<{ readonly cell: CellView; readonly started: boolean }>;
  /** Null when there is no cell. */
  freeze(computerId: string): Promise<CellView | null>;
  /** Null when there is no cell; throws `host_full`, but not where it is `ending`. */
  thaw(computerId: string, leaseMs: number, ending?: boolean): Promise<CellView | null>;
  /** Bytes of a frozen cell that the kernel took back; 0 of any other. Nobody waits for it who wants to wake the cell. */
  reclaim(computerId: string): Promise<number>;
  /** Whether a cell was there. Resolves when its last process and everything of it is gone. */
  stop(computerId: string): Promise<boolean>;
  /** Stops and forgets. */
  forget(computerId: string): Promise<void>;
  /** Runs `work` while there is no cell and none is started; throws `wrong_state` when there is one, and while its last cannot be taken away. */
  without<T>(computerId: string, work: () => Promise<T>): Promise<T>;
  /** Whether a cell has the place of this computer's archive and may still be writing there. */
  showsArchive(computerId: string): boolean;
  /** Changes the limits of a cell that runs; throws `wrong_state` when it uses more memory than the new size has. */
  resize(computerId: string, size: ComputerSize): Promise<void>;
  /** Cell ids that are unknown or exited. Frozen ones hold no lease and are not missing. Side by side: none waits for another's turn. */
  renew(
    cells: readonly { readonly computer_id: string; readonly cell_id: string }[],
    leaseMs: number,
  ): Promise<readonly string[]>;
  list(): CellView[];
  usage(computerId: string): Promise<CellUsage | undefined>;
  /**
   * Looks for memory kills, which the hybrid layout does not announce, for ends of cells that cannot be watched, and at what could not be
   * taken down. Called from time to time.
   */
  look(): Promise<void>;
  /** Ends every cell; from now on starts are refused. Returns how many ran; throws, once it has tried them all, when one does not end. */
  clear(): Promise<number>;
}

/** Adopts what runs, takes down what is left of the rest, and then serves. */
export const openCells = async (parts: CellParts): Promise<Cells> => {
  const { cgroups, clock, events, records, crashPoint, logger } = parts;
  const cells = new Map<string, Cell>();
  const turns = createTurns();
  const bound = createBound(parts.parallelStarts);
  const leftovers = createLeftovers(createTakeDown(parts));
  const startCell = createStarter(parts, leftovers.takeDown);
  const unwatched = new Set<Cell>();
  let cleared = false;

  const release = (cell: Cell): void => {
    for (const end of cell.release.splice(0)) end();
  };

  /** Watches the cell's cgroup and its lease. A cell whose cgroup cannot be watched is looked at; its lease holds all the same. */
  const hold = (cell: Cell): void => {
    release(cell);
    const computerId = cell.record.computerId;
    const background = (work: Promise<unknown>): void => {
      work.catch((error: unknown) =>
        logger.error("a cell's state could not be followed", { computer_id: computerId, error }),
      );
    };
    try {
      cell.release.push(cgroups.watch(computerId, () => background(notice(computerId, cell))));
      unwatched.delete(cell);
    } catch (error) {
      if (!unwatched.has(cell)) logger.warn("a cell cannot be watched", { computer_id: computerId, error });
      unwatched.add(cell);
    }
    if (cell.state === "running") {
      const left = Math.max(0, cell.leaseEndsAt - clock.monotonic());
      cell.release.push(clock.after(left, () => background(endLease(computerId, cell))));
    }
  };

  const notice = (computerId: string, cell: Cell): Promise<void> =>
    turns(computerId, async () => {
      if (cells.get(computerId) !== cell || cell.state === "exited") return;
      const now = await cgroups.state(computerId);
      if (now?.populated) return;
      const kills = await cgroups.oomKills(computerId);
      await finish(cell, kills > cell.oomKills ? "out_of_memory" : "agent_ended");
    });

  const endLease = (computerId: string, cell: Cell): Promise<void> =>
    turns(computerId, async () => {
      if (cells.get(computerId) !== cell || cell.state !== "running") return;
      if (cell.leaseEndsAt > clock.monotonic()) return hold(cell);
      await freezeCell(cell);
      events.add("lease_ended", computerId, cell.record.cellId);
    });

  const finish = async (
    cell: Cell,
    reason: "stopped" | "agent_ended" | "out_of_memory" | "killed",
  ): Promise<void> => {
    const { computerId, cellId, slot } = cell.record;
    release(cell);
    unwatched.delete(cell);
    cell.state = "exited";
    cell.record = { ...cell.record, phase: "exited", exit: { reason, at_ms: clock.now() } };
    crashPoint("cell.exit:begin");
    const failed = await leftovers.takeDown(computerId, slot).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    crashPoint("cell.exit:down");
    await records.write(cell.record);
    crashPoint("cell.exit:recorded");
    if (reason === "out_of_memory") events.add("out_of_memory", computerId, cellId);
    events.add("exited", computerId, cellId);
    if (failed) throw failed.error;
  };

  const freezeCell = async (cell: Cell): Promise<void> => {
    const { computerId, cellId } = cell.record;
    crashPoint("cell.freeze:begin");
    await cgroups.freeze(computerId);
    crashPoint("cell.freeze:frozen");
    cell.state = "frozen";
    hold(cell);
    events.add("frozen", computerId, cellId);
    void cgroups.reclaim(computerId).catch((error: unknown) => {
      logger.warn("memory of a frozen cell could not be reclaimed", { computer_id: computerId, error });
    });
  };

  const lease = async (cell: Cell, leaseMs: number, warm = cell.record.warm): Promise<void> => {
    cell.leaseEndsAt = clock.monotonic() + leaseMs;
    cell.record = { ...cell.record, leaseEndsAtMs: clock.now() + leaseMs, warm };
    await records.write(cell.record);
    hold(cell);
  };

  const thawCell = async (cell: Cell, leaseMs: number, ending = false): Promise<void> => {
    const thaw = async (): Promise<void> => {
      const { computerId, cellId } = cell.record;
      await lease(cell, leaseMs);
      crashPoint("cell.thaw:leased");
      await cgroups.thaw(computerId);
      crashPoint("cell.thaw:thawed");
      cell.state = "running";
      hold(cell);
      events.add("thawed", computerId, cellId);
    };
    await (ending ? thaw() : parts.admission.admit(computerSizes[cell.record.size].memory_bytes, thaw));
  };

  /** A cell that is there begins to serve, or goes on to. */
  const serve = async (cell: Cell, leaseMs: number, warm: boolean): Promise<void> => {
    const { computerId, size } = cell.record;
    const claimed = cell.record.warm && !warm;
    if (cell.state === "frozen") await thawCell(cell, leaseMs);
    if (!claimed) return lease(cell, leaseMs);
    await parts.admission.admit(computerSizes[size].memory_bytes, async () => {
      await cgroups.setShare(computerId, "usual");
      await lease(cell, leaseMs, false);
      crashPoint("cell.start:claimed");
    });
  };

  /** Takes a warm cell away that is made of what is no longer current, its blank volume too where the image is another. */
  const refresh = async (cell: Cell): Promise<boolean> => {
    const { computerId, size, warm, policy } = cell.record;
    const { volumes, current } = parts;
    const isOtherImage = warm && volumes.get(computerId).image !== current.image;
    if (!warm || (policy === current.policy && !isOtherImage)) return false;
    logger.info("a warm cell is made anew: image, policy or agent have changed", { computer_id: computerId });
    await finish(cell, "stopped");
    if (!isOtherImage) return true;
    await volumes.destroy(computerId);
    crashPoint("cell.start:refreshing");
    await volumes.create(computerId, size);
    return true;
  };

  /** The cell of a computer while it is alive. */
  const alive = (computerId: string): Cell | undefined => {
    const cell = cells.get(computerId);
    return cell && cell.state !== "exited" ? cell : undefined;
  };

  const refuseCell = (computerId: string): void => {
    const state = alive(computerId)?.state;
    if (state) throw new HoldfastError("wrong_state", `${computerId} has a cell; stop it first`, { state });
  };

  const view = (cell: Cell): CellView => viewOf(cell, clock);

  const service: Cells = {
    start: (computerId, size, leaseMs, wishes = {}) =>
      turns(computerId, async () => {
        if (cleared)
          throw new HoldfastError("wrong_state", "this host is being shut down; no cell is started", {
            state: "cleared",
          });
        const known = alive(computerId);
        if (known && !(await refresh(known))) {
          await serve(known, leaseMs, wishes.warm ?? false);
          return { cell: view(known), started: false };
        }
        await leftovers.clear(computerId);
        for (const { source } of wishes.trees ?? []) if ("volume_of" in source) refuseCell(source.volume_of);
        const cell = await bound(() =>
          parts.admission.admit(computerSizes[size].memory_bytes, () =>
            startCell(computerId, size, leaseMs, wishes),
          ),
        );
        cells.set(computerId, cell);
        hold(cell);
        events.add("started", computerId, cell.record.cellId);
        // It may have ended before the watch was there.
        void notice(computerId, cell).catch((error: unknown) =>
          logger.error("a new cell's state could not be read", { error }),
        );
        return { cell: view(cell), started: true };
      }),
    freeze: (computerId) =>
      turns(computerId, async () => {
        const cell = alive(computerId);
        if (cell?.state === "running") await freezeCell(cell);
        return cell ? view(cell) : null;
      }),
    thaw: (computerId, leaseMs, ending) =>
      turns(computerId, async () => {
        const cell = alive(computerId);
        if (cell?.state === "frozen") await thawCell(cell, leaseMs, ending);
        return cell ? view(cell) : null;
      }),
    reclaim: async (computerId) => (alive(computerId)?.state === "frozen" ? cgroups.reclaim(computerId) : 0),
    stop: (computerId) =>
      turns(computerId, async () => {
        const cell = alive(computerId);
        if (cell) await finish(cell, "stopped");
        return cell !== undefined || (await leftovers.clear(computerId));
      }),
    forget: (computerId) =>
      turns(computerId, async () => {
        const cell = alive(computerId);
        if (cell) await finish(cell, "stopped");
        else await leftovers.takeDown(computerId, cells.get(computerId)?.record.slot);
        await records.remove(computerId);
        cells.delete(computerId);
      }),
    without: (computerId, work) =>
      turns(computerId, async () => {
        refuseCell(computerId);
        await leftovers.clear(computerId);
        return work();
      }),
    showsArchive: (computerId) =>
      [...cells.values()].some(({ state, record }) => state !== "exited" && record.archiveOf === computerId),
    resize: (computerId, size) =>
      turns(computerId, async () => {
        const cell = alive(computerId);
        if (!cell || cell.record.size === size) return;
        try {
          await cgroups.setLimits(computerId, limitsOf(size));
        } catch (cause) {
          const message = `the running computer uses more memory than size ${size} has`;
          throw new HoldfastError("wrong_state", message, { state: cell.state }, { cause });
        }
        cell.record = { ...cell.record, size };
        await records.write(cell.record);
      }),
    renew: async (wanted, leaseMs) => {
      const renewed = await Promise.all(
        wanted.map(async ({ computer_id: computerId, cell_id: cellId }) => {
          const cell = alive(computerId);
          if (cell?.record.cellId !== cellId) return { cellId, missing: true };
          if (cell.state === "running")
            await turns(computerId, async () => {
              if (alive(computerId) === cell && cell.state === "running") await lease(cell, leaseMs);
            });
          return { cellId, missing: false };
        }),
      );
      return renewed.filter(({ missing }) => missing).map(({ cellId }) => cellId);
    },
    list: () => [...cells.values()].map(view),
    usage: (computerId) => cgroups.usage(computerId),
    look: async () => {
      const later = (error: unknown): void => logger.warn("what is left of a cell stays for now", { error });
      for (const computerId of leftovers.list())
        if (!(await cgroups.state(computerId))?.populated)
          await turns(computerId, () => leftovers.clear(computerId)).catch(later);
      for (const cell of unwatched) await notice(cell.record.computerId, cell).catch(later);
      for (const cell of cells.values()) {
        if (cell.state !== "running") continue;
        const kills = await cgroups.oomKills(cell.record.computerId);
        if (kills > cell.oomKills) events.add("out_of_memory", cell.record.computerId, cell.record.cellId);
        cell.oomKills = Math.max(kills, cell.oomKills);
      }
    },
    clear: async () => {
      cleared = true;
      let stopped = 0;
      const problems: unknown[] = [];
      for (const computerId of new Set([...cells.keys(), ...leftovers.list()]))
        try {
          if (await service.stop(computerId)) stopped += 1;
        } catch (error) {
          problems.push(error);
        }
      if (problems.length > 0) throw problems[0];
      return stopped;
    },
  };

  for (const cell of await adoptCells(parts, leftovers.takeDown)) {
    cells.set(cell.record.computerId, cell);
    if (cell.state !== "exited") hold(cell);
  }
  return service;
};
