import { computerSizes, HoldfastError } from "@holdfast/contract";
import { exists } from "../lib/files.ts";
import type { VolumeFacts } from "./facts.ts";
import { poolGroup } from "./growth.ts";
import { volumeDirectories } from "./make.ts";
import { archiveCounts, fullPool, isFull, knownVolume, wholeVolume, type VolumeParts } from "./parts.ts";

/**
 * The places of archives: a subvolume each, which a cell fills and which is sealed in the volume's stead, and the way back. While there is
 * no cell of the computer, in its turn.
 */
export interface Archives {
  /** An empty place; what an earlier try put there is gone. Throws `not_found`, `wrong_state`, `host_full`. */
  open(computerId: string): Promise<void>;
  /** From here on the archive counts. False when it did before; throws `wrong_state` without a place. */
  seal(computerId: string): Promise<boolean>;
  /** Takes away a place that is open. */
  drop(computerId: string): Promise<boolean>;
  /** An empty volume beside the archive, whatever was unpacked before. Throws `wrong_state` where no archive counts. */
  unpack(computerId: string): Promise<{ readonly image: string }>;
  /** From here on the volume counts. False when it did before. */
  unpacked(computerId: string): Promise<boolean>;
  /** Goes on with what was decided. Returns the computer's facts as they are then. */
  finish(volume: VolumeFacts): Promise<VolumeFacts>;
}

/** Where the helper puts the archive in the computer's own root; see `cells/trees.ts`. */
const leftInRoot: readonly string[] = ["root/trees/archive", "root/trees"];

export const createArchives = (parts: VolumeParts): Archives => {
  const { places, pool, btrfs, facts, crashPoint } = parts;

  const drop = async (volume: VolumeFacts): Promise<VolumeFacts> => {
    crashPoint("archive.drop:begin");
    await btrfs.deleteSubvolumes([places.archive(volume.computerId)]);
    crashPoint("archive.drop:deleted");
    const dropped = { ...volume, archive: null };
    await facts.write(dropped);
    crashPoint("archive.drop:forgotten");
    return dropped;
  };

  const limitBytes = ({ size }: VolumeFacts): number => computerSizes[size].disk_bytes;

  const archives: Archives = {
    open: async (computerId) => {
      let volume = wholeVolume(parts, computerId);
      if (volume.archive?.state === "unpacked") volume = await archives.finish(volume);
      if (volume.archive) volume = await drop(volume);
      await parts.growth.refuse();
      const group = parts.numbers.nextGroup();
      crashPoint("archive.open:begin");
      await facts.write({ ...volume, archive: { group, state: "open" } });
      crashPoint("archive.open:recorded");
      try {
        await btrfs.createVolume({
          pool,
          group,
          parentGroup: poolGroup.number,
          directory: places.archives,
          name: computerId,
          // What cannot be compressed becomes larger, by the heads of its files.
          limitBytes: Math.ceil(limitBytes(volume) * 1.125),
          directories: [],
        });
      } catch (error) {
        await drop(volume);
        throw isFull(error) ? fullPool(error) : error;
      }
      crashPoint("archive.open:made");
    },
    seal: async (computerId) => {
      const volume = knownVolume(parts, computerId);
      const { archive } = volume;
      if (archiveCounts(volume)) return false;
      if (archive?.state !== "open")
        throw new HoldfastError("wrong_state", `no archive of ${computerId} is open`, { state: "ready" });
      crashPoint("archive.seal:begin");
      await btrfs.seal(places.archive(computerId));
      crashPoint("archive.seal:still");
      const sealed: VolumeFacts = { ...volume, archive: { ...archive, state: "sealed" } };
      await facts.write(sealed);
      crashPoint("archive.seal:decided");
      await archives.finish(sealed);
      crashPoint("archive.seal:deleted");
      return true;
    },
    drop: async (computerId) => {
      const volume = facts.get(computerId);
      if (volume?.archive?.state !== "open") return false;
      await drop(volume);
      return true;
    },
    unpack: async (computerId) => {
      const volume = knownVolume(parts, computerId);
      const { archive, group, image } = volume;
      if (!archive || !archiveCounts(volume))
        throw new HoldfastError("wrong_state", `${computerId} is no archive`, { state: "ready" });
      await parts.growth.refuse();
      const place = places.volume(computerId);
      crashPoint("archive.unpack:begin");
      if (await exists(place)) await btrfs.deleteSubvolumes([place]);
      await facts.write({ ...volume, archive: { ...archive, state: "unpacking" } });
      crashPoint("archive.unpack:recorded");
      // Beside snapshots, with which what is unpacked shares nothing; for that long it counts on top.
      const held = await btrfs.heldBytes(pool, `1/${group}`).catch(() => 0);
      await btrfs.createVolume({
        pool,
        group,
        parentGroup: poolGroup.number,
        directory: places.computers,
        name: computerId,
        limitBytes: limitBytes(volume) + held,
        directories: volumeDirectories,
      });
      crashPoint("archive.unpack:made");
      return { image };
    },
    unpacked: async (computerId) => {
      const volume = knownVolume(parts, computerId);
      const { archive } = volume;
      if (!archive || archive.state === "open") return false;
      const place = places.volume(computerId);
      if (archive.state === "sealed" || !(await exists(place)))
        throw new HoldfastError("wrong_state", `nothing of ${computerId} was unpacked`, {
          state: "archived",
        });
      if (archive.state === "unpacking") {
        await btrfs.tidy(place, leftInRoot);
        // All that was unpacked is on the disk before anything says that it counts.
        await btrfs.sync(pool);
        crashPoint("archive.unpacked:begin");
      }
      const decided: VolumeFacts = { ...volume, archive: { ...archive, state: "unpacked" } };
      await facts.write(decided);
      crashPoint("archive.unpacked:decided");
      await archives.finish(decided);
      return true;
    },
    finish: async (volume) => {
      const { computerId, archive } = volume;
      const place = places.volume(computerId);
      if (archive?.state === "sealed" && (await exists(place))) await btrfs.deleteSubvolumes([place]);
      if (archive?.state === "open" && !(await exists(places.archive(computerId)))) return drop(volume);
      if (archive?.state !== "unpacked") return volume;
      await btrfs.limitGroup(pool, `1/${volume.group}`, limitBytes(volume));
      await btrfs.deleteSubvolumes([places.archive(computerId)]);
      crashPoint("archive.unpacked:deleted");
      const done = { ...volume, archive: null };
      await facts.write(done);
      crashPoint("archive.unpacked:done");
      return done;
    },
  };
  return archives;
};
