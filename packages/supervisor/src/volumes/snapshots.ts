import { HoldfastError } from "@holdfast/contract";
import { nestedSubvolumes } from "./btrfs.ts";
import type { SnapshotFacts } from "./facts.ts";
import { fullPool, isFull, wholeVolume, type VolumeParts } from "./parts.ts";

/** Frozen copies of volumes. They count on the disk of their computer, and go with it. */
export interface Snapshots {
  /**
   * What was written before is in it; nothing is frozen. Throws `not_found`, `wrong_state` for an archive or an id that is another computer's,
   * `host_full` at 90 % of the pool, `computer_failed` with `nested_subvolumes`.
   */
  create(
    computerId: string,
    snapshotId: string,
  ): Promise<{ readonly created: boolean; readonly syncMs: number; readonly snapshotUs: number }>;
  delete(snapshotId: string): Promise<boolean>;
  list(): readonly SnapshotFacts[];
}

export const createSnapshots = (parts: VolumeParts): Snapshots => {
  const { places, btrfs, snapshotFacts, turns, crashPoint } = parts;
  /** Those that are going although their facts are there. */
  const going = new Set<string>();

  const take = async (snapshot: SnapshotFacts, group: number) => {
    const { computerId, snapshotId } = snapshot;
    crashPoint("snapshot.create:begin");
    try {
      await snapshotFacts.announce(snapshot);
      crashPoint("snapshot.create:announced");
      const taken = await parts.counting.copying(() =>
        btrfs.snapshot({
          source: places.volume(computerId),
          directory: places.snapshots,
          name: snapshotId,
          group,
          readOnly: true,
          sync: true,
        }),
      );
      crashPoint("snapshot.create:taken");
      snapshotFacts.know(snapshot);
      return taken;
    } catch (error) {
      await btrfs.deleteSubvolumes([places.snapshot(snapshotId)]);
      await snapshotFacts.remove(snapshotId);
      throw isFull(error) ? fullPool(error) : nestedIn(error);
    }
  };

  return {
    create: (computerId, snapshotId) =>
      turns(computerId, async () => {
        const known = snapshotFacts.get(snapshotId);
        if (known && known.computerId !== computerId)
          throw new HoldfastError("wrong_state", `${snapshotId} is of another computer`);
        if (known) return { created: false, syncMs: 0, snapshotUs: 0 };
        const { image, group } = wholeVolume(parts, computerId);
        await parts.growth.refuse();
        const { syncUs, snapshotUs } = await take({ snapshotId, computerId, image }, group);
        return { created: true, syncMs: Math.round(syncUs / 1000), snapshotUs };
      }),
    delete: async (snapshotId) => {
      const known = snapshotFacts.get(snapshotId);
      if (!known) return false;
      return turns(known.computerId, async () => {
        if (!snapshotFacts.get(snapshotId)) return false;
        going.add(snapshotId);
        try {
          crashPoint("snapshot.delete:begin");
          await btrfs.deleteSubvolumes([places.snapshot(snapshotId)]);
          crashPoint("snapshot.delete:deleted");
          await snapshotFacts.remove(snapshotId);
          crashPoint("snapshot.delete:forgotten");
        } finally {
          going.delete(snapshotId);
        }
        return true;
      });
    },
    list: () => [...snapshotFacts.all()].filter(({ snapshotId }) => !going.has(snapshotId)),
  };
};

/** The step that found subvolumes, told as the reason. */
export const nestedIn = (error: unknown): unknown =>
  error instanceof HoldfastError && error.details["step"] === nestedSubvolumes
    ? new HoldfastError(
        "computer_failed",
        "there are subvolumes inside the volume",
        { reason: nestedSubvolumes },
        { cause: error },
      )
    : error;
