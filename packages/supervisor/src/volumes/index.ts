import { computerSizes, HoldfastError, type ComputerSize } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import type { Images } from "../images/index.ts";
import { exists, makeDirectory, namesIn } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import { createTurns } from "../lib/turns.ts";
import type { Btrfs } from "./btrfs.ts";
import { openFacts, type VolumeFacts } from "./facts.ts";
import { createGrowth, poolGroup, roomToStartBytes } from "./growth.ts";
import { readSpace, type PoolSpace } from "./space.ts";

export type { VolumeFacts } from "./facts.ts";

/** What a cell is made of; see the helper. All of root's, as ids in a volume are 0-based. */
const volumeDirectories: readonly string[] = ["root", "work", ".overlay-work"];

/** What was erased, by kind. */
export interface Destroyed {
  readonly destroyed: boolean;
  readonly erased: { readonly volumes: number; readonly snapshots: number; readonly archives: number };
}

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
  /** Throws `not_found`; `host_full` when it would grow on a pool at 90 %. */
  resize(computerId: string, size: ComputerSize): Promise<void>;
  /**
   * Lets a full volume grow by `roomToStartBytes` while `work` runs: mounting takes some, and freeing a disk takes a computer that starts.
   * A supervisor that is killed meanwhile leaves that much to the volume until the next time.
   */
  withRoom<T>(computerId: string, work: () => Promise<T>): Promise<T>;
  /** Throws `computer_failed` when subvolumes are nested in it: they cannot be deleted with it. */
  destroy(computerId: string): Promise<Destroyed>;
  /** Throws `not_found`. */
  get(computerId: string): VolumeFacts;
  list(): readonly VolumeFacts[];
  /** Undefined without a volume. */
  usage(computerId: string): Promise<{ readonly bytes: number; readonly limitBytes: number } | undefined>;
  space(): Promise<PoolSpace>;
  /**
   * Sets anew what all volumes together may hold, and takes away quota groups of deleted volumes: the kernel frees them some time after
   * the volume. Called from time to time.
   */
  sweep(): Promise<void>;
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
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
}): Promise<Volumes> => {
  const { places, btrfs, pool, crashPoint } = options;
  for (const directory of [places.computers, places.facts, places.trials])
    await makeDirectory(directory, 0o700);
  const facts = await openFacts({ directory: places.facts, pathOf: places.factsOf });
  const turns = createTurns();
  const growth = createGrowth(pool, btrfs);
  let lastGroup = 1;
  const reserved = new Set<number>();

  const takeSlot = (): number => {
    const taken = new Set([...facts.all()].map((volume) => volume.slot));
    for (let slot = 0; slot < options.slots; slot += 1) {
      if (taken.has(slot) || reserved.has(slot)) continue;
      reserved.add(slot);
      return slot;
    }
    throw new HoldfastError("host_full", `all ${options.slots} id ranges of this instance are in use`, {
      limit: options.slots,
    });
  };

  /** Everything of one volume but its facts, which go last: while they are there the next start repeats this. */
  const remove = async (volume: VolumeFacts): Promise<void> => {
    const path = places.volume(volume.computerId);
    crashPoint("volume.destroy:begin");
    if (await exists(path)) await btrfs.deleteSubvolume(path);
    crashPoint("volume.destroy:deleted");
    await facts.remove(volume.computerId);
    crashPoint("volume.destroy:forgotten");
  };

  const make = async (computerId: string, size: ComputerSize): Promise<void> => {
    await growth.refuse();
    const image = (await options.images.find(options.image)).digest;
    const slot = takeSlot();
    lastGroup += 1;
    const volume = { computerId, slot, group: lastGroup, size, image, state: "creating" as const };
    try {
      crashPoint("volume.create:begin");
      await facts.write(volume);
      crashPoint("volume.create:recorded");
      try {
        await btrfs.createVolume({
          pool,
          group: volume.group,
          parentGroup: poolGroup.number,
          limitBytes: computerSizes[size].disk_bytes,
          directory: places.computers,
          name: computerId,
          directories: volumeDirectories,
        });
        crashPoint("volume.create:made");
        await facts.write({ ...volume, state: "ready" }, () => btrfs.sync(pool));
        crashPoint("volume.create:ready");
      } catch (error) {
        await remove(volume);
        throw isFull(error)
          ? new HoldfastError("host_full", "the pool has no room for another volume", {}, { cause: error })
          : error;
      }
    } finally {
      reserved.delete(slot);
    }
  };

  const limit = (volume: VolumeFacts, extraBytes = 0): Promise<void> =>
    btrfs.limitGroup(pool, `1/${volume.group}`, computerSizes[volume.size].disk_bytes + extraBytes);

  const volumes: Volumes = {
    create: (computerId, size) =>
      turns(computerId, async () => {
        const known = facts.get(computerId);
        if (known?.state === "ready") return { created: false, image: known.image };
        if (known) await remove(known);
        await make(computerId, size);
        return { created: true, image: volumes.get(computerId).image };
      }),
    resize: (computerId, size) =>
      turns(computerId, async () => {
        const volume = volumes.get(computerId);
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
        if (!volume) return { destroyed: false, erased: { volumes: 0, snapshots: 0, archives: 0 } };
        const path = places.volume(computerId);
        const nested = (await exists(path)) ? await btrfs.nestedSubvolumes(path) : [];
        if (nested.length > 0)
          throw new HoldfastError("computer_failed", "there are subvolumes inside the volume", {
            reason: "nested_subvolumes",
            count: nested.length,
          });
        await remove(volume);
        return { destroyed: true, erased: { volumes: 1, snapshots: 0, archives: 0 } };
      }),
    get: (computerId) => {
      const volume = facts.get(computerId);
      if (volume?.state === "ready") return volume;
      throw new HoldfastError("not_found", `there is no volume of ${computerId} on this host`);
    },
    list: () => [...facts.all()].filter((volume) => volume.state === "ready"),
    usage: async (computerId) => {
      const volume = facts.get(computerId);
      if (volume?.state !== "ready") return undefined;
      const bytes = await btrfs.heldBytes(pool, `1/${volume.group}`);
      return { bytes, limitBytes: computerSizes[volume.size].disk_bytes };
    },
    space: () => readSpace(pool),
    sweep: async () => {
      const groups = await btrfs.groups(pool);
      // Looked at after them: the facts of a volume that is being made are there before its group.
      const used = new Set([...facts.all()].map((volume) => `1/${volume.group}`));
      await growth.renew();
      for (const group of groups) {
        const ownerless = group.level === 1 && !used.has(group.id);
        if (ownerless || group.stale) await btrfs.tryDestroyGroup(pool, group.id);
      }
    },
    removeOldImages: () =>
      options.images.removeExcept(
        new Set([options.image, ...[...facts.all()].map((volume) => volume.image)]),
      ),
  };

  const recover = async (): Promise<void> => {
    const groups = await btrfs.groups(pool);
    for (const group of groups)
      if (group.level === 1) lastGroup = Math.max(lastGroup, Number(group.id.slice(2)));
    for (const volume of facts.all()) {
      lastGroup = Math.max(lastGroup, volume.group);
      // Deleting is one step of the kernel: a volume that was to go is whole or gone. No mark is written before, which a full pool would
      // refuse, so facts without a volume are what a deletion left that was cut short.
      if (volume.state !== "ready" || !(await exists(places.volume(volume.computerId)))) {
        options.logger.info("removing a half-made or half-deleted volume", {
          computer_id: volume.computerId,
        });
        await remove(volume);
      }
    }
    for (const name of await namesIn(places.computers)) {
      if (!facts.get(name))
        throw new Error(`${places.computers}/${name} belongs to no known computer. Move it away.`);
    }
    if (!groups.some((group) => group.id === poolGroup.id)) await btrfs.createGroup(pool, poolGroup.id);
    await volumes.sweep();
  };
  await recover();
  return volumes;
};

/** The others took the last of what they may hold together, or of the pool, since it was looked at. */
const isFull = (error: unknown): boolean =>
  error instanceof Error && /quota exceeded|no space left|EDQUOT|ENOSPC|error -?122\b/i.test(error.message);
