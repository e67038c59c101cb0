import { computerSizes, HoldfastError, limits, type ComputerSize } from "@holdfast/contract";
import type { CellLimits, CgroupPlaces } from "../cgroups/index.ts";
import { allOver } from "../lib/all-over.ts";
import type { Cell } from "./cell.ts";
import { waitForFirstByte } from "./first-byte.ts";
import { changedRules, refusedRoot, type Started, type StartPlan } from "./helper.ts";
import type { CellParts } from "./parts.ts";
import type { CellRecord } from "./records.ts";
import { makeSocketDirectory, socketsOf } from "./sockets.ts";
import { planTrees, treeMounts, type TreeWish } from "./trees.ts";

export interface CellWishes {
  /** Nobody waits for it; see `cell.start`. */
  readonly warm?: boolean;
  /** Of computers that have no cell. */
  readonly trees?: readonly TreeWish[];
}

export const limitsOf = (size: ComputerSize): CellLimits => {
  const { cpus, memory_bytes: memoryBytes, pids } = computerSizes[size];
  return { cpus, memoryBytes, pids };
};

/** Makes one cell and waits until its agent answers. When any step fails the error is passed on, and everything taken away again, if that can be. */
export const createStarter =
  (
    parts: CellParts,
    takeDown: (computerId: string, slot: number | undefined) => Promise<void>,
  ): ((computerId: string, size: ComputerSize, leaseMs: number, wishes?: CellWishes) => Promise<Cell>) =>
  async (computerId, size, leaseMs, { warm = false, trees: wished = [] } = {}) => {
    const { places, clock, records, crashPoint } = parts;
    const volume = parts.volumes.get(computerId);
    const image = await parts.images.find(volume.image);
    if (volume.archive?.state === "unpacking" && archiveIn(wished) !== computerId)
      throw new HoldfastError("wrong_state", `${computerId} is not unpacked yet`, { state: "archived" });
    const trees = await planTrees(parts, wished);
    // What is being packed is not what the computer has from here on.
    if (volume.archive?.state === "open") await parts.volumes.archives.drop(computerId);
    const rules = parts.network.inForce();

    const record: CellRecord = {
      computerId,
      cellId: parts.newId("cell"),
      slot: volume.slot,
      size,
      phase: "starting",
      startedAtMs: clock.now(),
      leaseEndsAtMs: clock.now() + leaseMs,
      exit: null,
      warm,
      policy: parts.current.policy,
      archiveOf: archiveIn(wished),
    };
    const leaseEndsAt = clock.monotonic() + leaseMs;
    await records.write(record);
    crashPoint("cell.start:recorded");
    try {
      const link = parts.network.plan(volume.slot);
      const ids = { firstId: parts.firstIdOf(volume.slot), idCount: parts.idCount };
      const sockets = socketsOf(parts, computerId);
      const [forControl] = sockets;
      const [cgroups, bundle] = await allOver([
        makeGroup(parts, computerId, size, warm),
        parts.bundles.make({
          computerId,
          ...ids,
          legacyControllers: parts.cgroups.legacyControllers,
          resolver: link.gateway,
          link,
          trees: treeMounts(trees),
        }),
        makeSocketDirectory(parts, computerId),
      ]);
      crashPoint("cell.start:prepared");
      const plan: StartPlan = {
        id: computerId,
        root: { bundle, image: image.path, volume: places.volume(computerId), agent: parts.agent, ...ids },
        sockets,
        cgroups,
        rules,
        trees,
      };
      const run = async (plan: StartPlan): Promise<Started> => {
        const started = await parts.helper.start(plan);
        crashPoint("cell.start:made");
        await answer(forControl.path, parts);
        return started;
      };
      const { timings_us: timings } = await run(plan).catch(async (error: unknown) => {
        const step = error instanceof HoldfastError ? error.details["step"] : undefined;
        if (step === changedRules) return run({ ...plan, rules: await parts.network.mend() });
        // On a full volume there is no room for the overlay's own directory, nor for what the agent may have to make. Whoever is to free its
        // disk needs the computer running.
        if (step === refusedRoot) return parts.volumes.withRoom(computerId, () => run(plan));
        throw error;
      });
      const running: CellRecord = { ...record, phase: "running" };
      await records.write(running);
      crashPoint("cell.start:running");
      parts.logger.debug("cell started", {
        computer_id: computerId,
        cell_id: record.cellId,
        timings_us: timings,
      });
      return { record: running, state: "running", leaseEndsAt, oomKills: 0, release: [] };
    } catch (error) {
      await takeDown(computerId, volume.slot)
        .then(() => records.remove(computerId))
        .catch((left: unknown) =>
          // Why it did not start is worth more to who asked for it; the next start is told of this.
          parts.logger.error("what is left of a start that failed cannot be taken away", {
            computer_id: computerId,
            error: left,
          }),
        );
      throw error;
    }
  };

const archiveIn = (trees: readonly TreeWish[]): string | null => {
  for (const { source } of trees) if ("archive_of" in source) return source.archive_of;
  return null;
};

const makeGroup = async (
  { cgroups }: CellParts,
  computerId: string,
  size: ComputerSize,
  warm: boolean,
): Promise<CgroupPlaces> => {
  const places = await cgroups.create(computerId, limitsOf(size));
  if (warm) await cgroups.setShare(computerId, "low");
  return places;
};

const answer = async (path: string, parts: CellParts): Promise<void> => {
  try {
    await waitForFirstByte(path, limits.cellStartMs, parts.clock);
  } catch (cause) {
    const message = `the cell was made but its agent does not answer: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new HoldfastError("computer_failed", message, { reason: "start", step: "agent" }, { cause });
  }
};
