import { computerSizes, HoldfastError, type ComputerSize } from "@holdfast/contract";
import type { VolumeFacts } from "./facts.ts";
import { poolGroup } from "./growth.ts";
import { fullPool, isFull, type VolumeParts } from "./parts.ts";

/** What a cell is made of; see the helper. All of root's, as ids in a volume are 0-based. */
export const volumeDirectories: readonly string[] = ["root", "work", ".overlay-work"];

export interface Making {
  /** Makes a volume from an image, if there is none. In the computer's turn. */
  create(
    computerId: string,
    size: ComputerSize,
    image: string,
  ): Promise<{ readonly created: boolean; readonly image: string }>;
  /** The same, with the files of a snapshot. Throws `not_found`. */
  fork(
    computerId: string,
    size: ComputerSize,
    snapshotId: string,
  ): Promise<{ readonly created: boolean; readonly image: string }>;
}

export const createMaking = (
  parts: VolumeParts,
  remove: (volume: VolumeFacts) => Promise<unknown>,
): Making => {
  const { places, pool, btrfs, facts, counting, crashPoint } = parts;

  /** What is there whole; what was left half-made is taken away. */
  const known = async (computerId: string): Promise<VolumeFacts | undefined> => {
    const volume = facts.get(computerId);
    if (volume && volume.state !== "ready") await remove(volume);
    return volume?.state === "ready" ? volume : undefined;
  };

  const planned = async (computerId: string, size: ComputerSize, digest: string, slot: number) => {
    const image = (await parts.images.find(digest)).digest;
    const group = parts.numbers.nextGroup();
    const volume: VolumeFacts = {
      computerId,
      slot,
      group,
      size,
      image,
      state: "creating",
      restoring: null,
      restored: null,
      archive: null,
    };
    const plan = {
      pool,
      group,
      parentGroup: poolGroup.number,
      limitBytes: computerSizes[size].disk_bytes,
      directory: places.computers,
      name: computerId,
      directories: volumeDirectories,
    };
    return { volume, plan };
  };

  const orRemoved = async (volume: VolumeFacts, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      await remove(volume);
      throw isFull(error) ? fullPool(error) : error;
    }
  };

  return {
    create: async (computerId, size, digest) => {
      const there = await known(computerId);
      if (there) return { created: false, image: there.image };
      await parts.growth.refuse();
      return parts.numbers.withSlot(async (slot) => {
        const { volume, plan } = await planned(computerId, size, digest, slot);
        crashPoint("volume.create:begin");
        await facts.write(volume);
        crashPoint("volume.create:recorded");
        await orRemoved(volume, async () => {
          await btrfs.createVolume(plan);
          crashPoint("volume.create:made");
          await facts.write({ ...volume, state: "ready" }, () => btrfs.sync(pool));
          crashPoint("volume.create:ready");
        });
        return { created: true, image: volume.image };
      });
    },
    fork: async (computerId, size, snapshotId) => {
      const there = await known(computerId);
      if (there) return { created: false, image: there.image };
      const snapshot = parts.snapshotFacts.get(snapshotId);
      if (!snapshot) throw new HoldfastError("not_found", `there is no snapshot ${snapshotId} on this host`);
      await parts.growth.refuse();
      return parts.numbers.withSlot(async (slot) => {
        const { volume, plan } = await planned(computerId, size, snapshot.image, slot);
        const ready: VolumeFacts = { ...volume, state: "ready" };
        crashPoint("volume.fork:begin");
        facts.know(volume);
        await orRemoved(volume, async () => {
          await facts.announce(ready);
          crashPoint("volume.fork:announced");
          await counting.copying(() => btrfs.createVolume({ ...plan, source: places.snapshot(snapshotId) }));
          crashPoint("volume.fork:made");
          facts.know(ready);
        });
        return { created: true, image: volume.image };
      });
    },
  };
};
