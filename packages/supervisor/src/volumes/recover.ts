import { exists, namesIn } from "../lib/files.ts";
import type { Archives } from "./archives.ts";
import type { VolumeFacts } from "./facts.ts";
import { poolGroup } from "./growth.ts";
import { archiveCounts, type VolumeParts } from "./parts.ts";
import type { Restoring } from "./restore.ts";

/**
 * Finishes what an earlier supervisor had decided and takes back what it had only begun. Throws for what belongs to nobody: nothing that
 * may be somebody's work is deleted without its facts.
 */
export const recoverVolumes = async (
  parts: VolumeParts,
  moves: {
    readonly erase: (volume: VolumeFacts) => Promise<unknown>;
    readonly restoring: Restoring;
    readonly archives: Archives;
  },
): Promise<void> => {
  const { places, pool, btrfs, facts, snapshotFacts, numbers, logger } = parts;
  const groups = await btrfs.groups(pool);
  for (const group of groups) if (group.level === 1) numbers.passGroup(Number(group.id.slice(2)));
  for (const volume of facts.all()) numbers.passGroup(Math.max(volume.group, volume.archive?.group ?? 0));
  if (!groups.some((group) => group.id === poolGroup.id)) await btrfs.createGroup(pool, poolGroup.id);

  for (const volume of facts.all()) {
    const now =
      volume.state === "ready" ? await moves.archives.finish(await moves.restoring.finish(volume)) : volume;
    const { computerId } = now;
    const counts = archiveCounts(now) ? places.archive(computerId) : places.volume(computerId);
    if (now.state === "ready" && (await exists(counts))) continue;
    logger.info("removing a half-made or half-deleted volume", { computer_id: computerId });
    await moves.erase(now);
  }
  for (const { snapshotId } of snapshotFacts.all())
    if (!(await exists(places.snapshot(snapshotId)))) await snapshotFacts.remove(snapshotId);
  for (const { snapshotId, computerId } of snapshotFacts.all())
    if (!facts.get(computerId)) throw ownerless(places.snapshot(snapshotId));

  const refuse = async (directory: string, isKnown: (name: string) => boolean): Promise<void> => {
    for (const name of await namesIn(directory)) if (!isKnown(name)) throw ownerless(`${directory}/${name}`);
  };
  await refuse(places.computers, (name) => facts.get(name) !== undefined);
  await refuse(places.archives, (name) => (facts.get(name)?.archive ?? null) !== null);
  await refuse(places.snapshots, (name) => snapshotFacts.get(name) !== undefined);
  // Copies for restorings that were never decided upon.
  for (const name of await namesIn(places.swaps)) await btrfs.deleteSubvolumes([`${places.swaps}/${name}`]);
};

const ownerless = (path: string): Error => new Error(`${path} belongs to no known computer. Move it away.`);
