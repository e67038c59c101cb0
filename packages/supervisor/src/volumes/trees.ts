import { HoldfastError } from "@holdfast/contract";
import { archiveCounts, knownVolume, wholeVolume, type VolumeParts } from "./parts.ts";

/** What a cell may be shown of other computers; see the contract. */
export type TreeSource =
  | { readonly snapshot_id: string }
  | { readonly volume_of: string }
  | { readonly archive_of: string };

/** Where it is: a subvolume of the supervisor's own naming, and the image below its root. */
export type ShownTree =
  | { readonly kind: "files"; readonly volume: string; readonly image: string }
  | { readonly kind: "archive"; readonly volume: string; readonly readOnly: boolean };

export const findTree = (
  parts: Pick<VolumeParts, "facts" | "snapshotFacts" | "places">,
  source: TreeSource,
): ShownTree => {
  const { places } = parts;
  if ("snapshot_id" in source) {
    const snapshot = parts.snapshotFacts.get(source.snapshot_id);
    if (!snapshot)
      throw new HoldfastError("not_found", `there is no snapshot ${source.snapshot_id} on this host`);
    return { kind: "files", volume: places.snapshot(source.snapshot_id), image: snapshot.image };
  }
  if ("volume_of" in source) {
    const volume = wholeVolume(parts, source.volume_of);
    return { kind: "files", volume: places.volume(source.volume_of), image: volume.image };
  }
  const volume = knownVolume(parts, source.archive_of);
  if (volume.archive?.state !== "open" && !archiveCounts(volume))
    throw new HoldfastError("wrong_state", `there is no archive of ${source.archive_of}`, { state: "ready" });
  return {
    kind: "archive",
    volume: places.archive(source.archive_of),
    readOnly: volume.archive?.state !== "open",
  };
};
