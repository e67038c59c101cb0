import { exists } from "../lib/files.ts";
import { archiveCounts, type VolumeParts } from "./parts.ts";
import type { VolumeFacts } from "./facts.ts";
import { swapOf } from "./restore.ts";

/** What there was and is no more. */
export interface Erased {
  readonly volumes: number;
  readonly snapshots: number;
  readonly archives: number;
}

export const nothingErased: Erased = { volumes: 0, snapshots: 0, archives: 0 };

/**
 * Erases everything of a computer: volume, snapshots, archive, and its facts, which go last: while they are there the next start goes on.
 * No mark is written before, which a full pool would refuse: what counts goes first, and facts without it are what was cut short.
 */
export const createErasing = (parts: VolumeParts): ((volume: VolumeFacts) => Promise<Erased>) => {
  const { places, btrfs, facts, snapshotFacts, crashPoint } = parts;
  const present = async (paths: readonly string[]): Promise<readonly string[]> => {
    const there = await Promise.all(paths.map(exists));
    return paths.filter((_path, index) => there[index]);
  };
  return async (volume) => {
    const { computerId } = volume;
    const snapshots = [...snapshotFacts.all()].filter((snapshot) => snapshot.computerId === computerId);
    const volumes = await present([places.volume(computerId)]);
    const archives = await present([places.archive(computerId)]);
    const { fresh, old } = swapOf(places, computerId);
    const swaps = await present([fresh, old]);
    const copies = await present(snapshots.map(({ snapshotId }) => places.snapshot(snapshotId)));
    crashPoint("volume.destroy:begin");
    // What was decided to take the volume's place would come back in its stead.
    const counting = archiveCounts(volume) ? [...archives, ...volumes] : [...swaps, ...volumes, ...archives];
    const all = [...new Set([...counting, ...swaps, ...copies])];
    for (let from = 0; from < all.length; from += mostAtOnce)
      await btrfs.deleteSubvolumes(all.slice(from, from + mostAtOnce));
    crashPoint("volume.destroy:deleted");
    for (const { snapshotId } of snapshots) await snapshotFacts.remove(snapshotId);
    crashPoint("volume.destroy:snapshots");
    await facts.remove(computerId);
    crashPoint("volume.destroy:forgotten");
    return { volumes: volumes.length, snapshots: copies.length, archives: archives.length };
  };
};

/** A request to the helper has at most 256 KiB. */
const mostAtOnce = 200;
