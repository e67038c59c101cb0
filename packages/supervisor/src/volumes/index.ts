import { computerSizes, HoldfastError, type ComputerSize } from "@holdfast/contract";
import type { CrashPoint, Logger } from "@holdfast/kit";
import type { Images } from "../images/index.ts";
import { exists, makeDirectory } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import { createTurns } from "../lib/turns.ts";
import { createArchives, type Archives } from "./archives.ts";
import { nestedSubvolumes, type Btrfs } from "./btrfs.ts";
import { createCounting } from "./counting.ts";
import { createErasing, nothingErased, type Erased } from "./erase.ts";
import { openSnapshotFacts, openVolumeFacts, type VolumeFacts } from "./facts.ts";
import { createGrowth, roomToStartBytes } from "./growth.ts";
import { createMaking } from "./make.ts";
import { createNumbers } from "./numbers.ts";
import { archiveCounts, knownVolume, wholeVolume, type VolumeParts } from "./parts.ts";
import { recoverVolumes } from "./recover.ts";
import { createRestoring } from "./restore.ts";
import { createSnapshots, type Snapshots } from "./snapshots.ts";
import { readSpace, type PoolSpace } from "./space.ts";
import { findTree, type ShownTree, type TreeSource } from "./trees.ts";

export type { VolumeFacts } from "./facts.ts";
export type { ShownTree, TreeSource } from "./trees.ts";

/**
 * The disks of computers: one subvolume and one quota group each. Everything may be repeated; a step that fails leaves nothing that
 * the next try or the next start does not take away.
 */
export interface Volumes {
  /** Makes a volume from the current image, if there is none. Throws `host_full` at 90 % of the pool or without a free id range. */
  create(
    computerId: string,
    size: ComputerSize,
  ): Promise<{ readonly created: boolean; readonly image: string }>;
  /** As `create`, with the files of a snapshot; the two share what neither has changed. Throws `not_found` without the snapshot. */
  fork(
    computerId: string,
    size: ComputerSize,
    snapshotId: string,
  ): Promise<{ readonly created: boolean; readonly image: string }>;
  /** Puts the files of a snapshot in place of the volume's, whole or not at all; only while there is no cell. False: done before. */
  restore(computerId: string, snapshotId: string, restoreId: string): Promise<boolean>;
  readonly snapshots: Snapshots;
  /** Only while there is no cell. */
  readonly archives: Omit<Archives, "finish">;
  /** Where what a cell is to be shown is. Throws `not_found`, and `wrong_state` for what does not count. */
  tree(source: TreeSource): ShownTree;
  /** Makes everything before durable. */
  sync(): Promise<void>;
  /** Throws `not_found`; `host_full` when it would grow on a pool at 90 %. */
  resize(computerId: string, size: ComputerSize): Promise<void>;
  /**
   * Lets a full volume grow by `roomToStartBytes` while `work` runs: mounting takes some, and freeing a disk takes a computer that starts.
   * A supervisor that is killed meanwhile leaves that much to the volume until the next time.
   */
  withRoom<T>(computerId: string, work: () => Promise<T>): Promise<T>;
  /** With its snapshots and its archive. Throws `computer_failed` when subvolumes are nested in it: they cannot be deleted with it. */
  destroy(computerId: string): Promise<{ readonly destroyed: boolean; readonly erased: Erased }>;
  /** Throws `not_found`, and `wrong_state` for an archive that no volume was made beside. */
  get(computerId: string): VolumeFacts;
  /** Throws `not_found`. */
  known(computerId: string): VolumeFacts;
  /** Whether what the computer has on its disk is its archive. Throws `not_found`. */
  isArchived(computerId: string): boolean;
  list(): readonly (VolumeFacts & { readonly archived: boolean })[];
  /** Undefined without a volume. */
  usage(computerId: string): Promise<{ readonly bytes: number; readonly limitBytes: number } | undefined>;
  space(): Promise<PoolSpace>;
  /**
   * Sets anew what all volumes together may hold, and takes away quota groups of deleted volumes: the kernel frees them some time after
   * the volume. Called from time to time.
   */
  sweep(): Promise<void>;
  /** Sees to it that quotas are counted. Called from time to time. */
  look(): Promise<void>;
  /** Removes images of which no volume was made, but the one for new volumes. Called from time to time. */
  removeOldImages(): Promise<void>;
}

export const openVolumes = async (options: {
  readonly places: Places;
  readonly pool: string;
  readonly btrfs: Btrfs;
  readonly images: Images;
  readonly image: string;
  readonly slots: number;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
}): Promise<Volumes> => {
  const { places, btrfs, pool, logger, crashPoint } = options;
  const { computers, facts, snapshots, snapshotFacts, archives, swaps, trials } = places;
  for (const directory of [computers, facts, snapshots, snapshotFacts, archives, swaps, trials])
    await makeDirectory(directory, 0o700);
  const known = await openVolumeFacts({ directory: facts, pathOf: places.factsOf });
  const counting = createCounting(pool, btrfs, logger);
  const parts: VolumeParts = {
    places,
    pool,
    btrfs,
    images: options.images,
    logger,
    crashPoint,
    counting,
    facts: known,
    snapshotFacts: await openSnapshotFacts({ directory: snapshotFacts, pathOf: places.snapshotFactsOf }),
    turns: createTurns(),
    growth: createGrowth(pool, btrfs, counting.settled),
    numbers: createNumbers(known, options.slots),
  };
  return createVolumes(parts, options.image);
};

const createVolumes = async (parts: VolumeParts, image: string): Promise<Volumes> => {
  const { places, pool, btrfs, facts, turns, growth, crashPoint } = parts;
  const erase = createErasing(parts);
  const making = createMaking(parts, erase);
  const restoring = createRestoring(parts);
  const archives = createArchives(parts);

  const limit = (volume: VolumeFacts, extraBytes = 0): Promise<void> =>
    btrfs.limitGroup(pool, `1/${volume.group}`, computerSizes[volume.size].disk_bytes + extraBytes);

  /** In its turn, once what was decided before is done, and without an archive that would not be what the volume is then. */
  const changing = <T>(computerId: string, work: () => Promise<T>): Promise<T> =>
    turns(computerId, async () => {
      await archives.drop(computerId);
      return work();
    });

  const volumes: Volumes = {
    create: (computerId, size) => turns(computerId, () => making.create(computerId, size, image)),
    fork: (computerId, size, snapshotId) =>
      turns(computerId, () => making.fork(computerId, size, snapshotId)),
    restore: (computerId, snapshotId, restoreId) =>
      changing(computerId, () => restoring.restore(computerId, snapshotId, restoreId)),
    snapshots: createSnapshots(parts),
    archives: {
      open: (computerId) => turns(computerId, () => archives.open(computerId)),
      seal: (computerId) => turns(computerId, () => archives.seal(computerId)),
      drop: (computerId) => turns(computerId, () => archives.drop(computerId)),
      unpack: (computerId) => turns(computerId, () => archives.unpack(computerId)),
      unpacked: (computerId) => turns(computerId, () => archives.unpacked(computerId)),
    },
    tree: (source) => findTree(parts, source),
    sync: () => btrfs.sync(pool),
    resize: (computerId, size) =>
      turns(computerId, async () => {
        const volume = knownVolume(parts, computerId);
        if (volume.size === size) return;
        if (computerSizes[size].disk_bytes > computerSizes[volume.size].disk_bytes) await growth.refuse();
        crashPoint("volume.resize:begin");
        await limit({ ...volume, size });
        crashPoint("volume.resize:limited");
        await facts.write({ ...volume, size });
        crashPoint("volume.resize:recorded");
      }),
    withRoom: (computerId, work) =>
      turns(computerId, () =>
        growth.withRoom(async () => {
          const volume = volumes.get(computerId);
          await limit(volume, roomToStartBytes);
          try {
            return await work();
          } finally {
            await limit(volume);
          }
        }),
      ),
    destroy: (computerId) =>
      turns(computerId, async () => {
        const volume = facts.get(computerId);
        if (!volume) return { destroyed: false, erased: nothingErased };
        const path = places.volume(computerId);
        const count = (await exists(path)) ? await btrfs.nested(path) : 0;
        if (count > 0)
          throw new HoldfastError("computer_failed", "there are subvolumes inside the volume", {
            reason: nestedSubvolumes,
            count,
          });
        return { destroyed: true, erased: await erase(volume) };
      }),
    known: (computerId) => knownVolume(parts, computerId),
    isArchived: (computerId) => archiveCounts(knownVolume(parts, computerId)),
    get: (computerId) => {
      const volume = knownVolume(parts, computerId);
      return volume.archive?.state === "unpacking" ? volume : wholeVolume(parts, computerId);
    },
    list: () =>
      [...facts.all()]
        .filter((volume) => volume.state === "ready")
        .map((volume) => ({ ...volume, archived: archiveCounts(volume) })),
    usage: async (computerId) => {
      const volume = facts.get(computerId);
      if (volume?.state !== "ready") return undefined;
      const groups = [volume.group, ...(volume.archive ? [volume.archive.group] : [])];
      const held = await Promise.all(groups.map((group) => btrfs.heldBytes(pool, `1/${group}`)));
      const bytes = held.reduce((sum, one) => sum + one, 0);
      return { bytes, limitBytes: computerSizes[volume.size].disk_bytes };
    },
    space: () => readSpace(pool),
    sweep: async () => {
      const groups = await btrfs.groups(pool);
      // Looked at after them: the facts of a volume that is being made are there before its group.
      const used = new Set(
        [...facts.all()].flatMap(({ group, archive }) => [`1/${group}`, `1/${archive?.group ?? group}`]),
      );
      await growth.renew();
      for (const group of groups) {
        const ownerless = group.level === 1 && !used.has(group.id);
        if (ownerless || group.stale) await btrfs.tryDestroyGroup(pool, group.id);
      }
    },
    look: () => parts.counting.look(),
    removeOldImages: () => {
      const needed = [...facts.all(), ...parts.snapshotFacts.all()].map((one) => one.image);
      return parts.images.removeExcept(new Set([image, ...needed]));
    },
  };
  await recoverVolumes(parts, { erase, restoring, archives });
  await volumes.sweep();
  return volumes;
};
