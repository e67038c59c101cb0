import { rename } from "node:fs/promises";
import { HoldfastError } from "@holdfast/contract";
import { exists } from "../lib/files.ts";
import type { VolumeFacts } from "./facts.ts";
import { fullPool, isFull, wholeVolume, type VolumeParts } from "./parts.ts";

/** Puts the files of a snapshot in place of a volume's. While there is no cell, in the computer's turn. */
export interface Restoring {
  /** False when the same was done before. Throws `not_found`, and `wrong_state` for another computer's snapshot. */
  restore(computerId: string, snapshotId: string, restoreId: string): Promise<boolean>;
  /** Goes on with what was decided and perhaps begun. */
  finish(volume: VolumeFacts): Promise<VolumeFacts>;
}

export const createRestoring = (parts: VolumeParts): Restoring => {
  const { places, btrfs, facts, crashPoint } = parts;

  /** A copy beside the volume, which is decided upon once it is durable. */
  const prepare = async (
    volume: VolumeFacts,
    snapshotId: string,
    restoring: { readonly id: string; readonly image: string },
  ): Promise<VolumeFacts> => {
    const { fresh, name } = swapOf(places, volume.computerId);
    crashPoint("volume.restore:begin");
    if (await exists(fresh)) await btrfs.deleteSubvolumes([fresh]);
    await parts.counting.copying(() =>
      btrfs.snapshot({
        source: places.snapshot(snapshotId),
        directory: places.swaps,
        name,
        group: volume.group,
        readOnly: false,
        sync: false,
      }),
    );
    crashPoint("volume.restore:made");
    const decided = { ...volume, restoring };
    await facts.write(decided);
    crashPoint("volume.restore:decided");
    return decided;
  };

  const restoring: Restoring = {
    restore: async (computerId, snapshotId, restoreId) => {
      let volume = wholeVolume(parts, computerId);
      if (volume.restoring) volume = await restoring.finish(volume);
      if (volume.restored === restoreId) return false;
      const snapshot = parts.snapshotFacts.get(snapshotId);
      if (!snapshot) throw new HoldfastError("not_found", `there is no snapshot ${snapshotId} on this host`);
      if (snapshot.computerId !== computerId)
        throw new HoldfastError("wrong_state", `${snapshotId} is of another computer`);
      try {
        await restoring.finish(await prepare(volume, snapshotId, { id: restoreId, image: snapshot.image }));
      } catch (error) {
        throw isFull(error) ? fullPool(error) : error;
      }
      return true;
    },
    finish: async (volume) => {
      const { computerId, restoring: decided } = volume;
      if (!decided) return volume;
      const place = places.volume(computerId);
      const { fresh, old } = swapOf(places, computerId);
      if (await exists(fresh)) {
        if (await exists(place)) await rename(place, old);
        crashPoint("volume.restore:away");
        await rename(fresh, place);
      }
      crashPoint("volume.restore:swapped");
      // Makes the renames durable too, before the facts speak of them as done.
      await btrfs.deleteSubvolumes([old]);
      crashPoint("volume.restore:deleted");
      const restored = { ...volume, image: decided.image, restored: decided.id, restoring: null };
      await facts.write(restored);
      crashPoint("volume.restore:done");
      return restored;
    },
  };
  return restoring;
};

/** What is to be the volume, and what was. */
export const swapOf = (places: VolumeParts["places"], computerId: string) => ({
  name: `${computerId}.new`,
  fresh: `${places.swaps}/${computerId}.new`,
  old: `${places.swaps}/${computerId}.old`,
});
