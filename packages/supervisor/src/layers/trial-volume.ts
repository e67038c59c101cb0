import { mkdir } from "node:fs/promises";
import { exists, makeDirectory } from "../lib/files.ts";
import type { Btrfs } from "../volumes/btrfs.ts";

/** A volume for one trial, outside every quota of computers. */
export const makeTrial = async (path: string, btrfs: Btrfs): Promise<void> => {
  await removeTrial(path, btrfs);
  await btrfs.createSubvolume(path);
  for (const directory of ["root", "work"]) await makeDirectory(`${path}/${directory}`, 0o755);
  await mkdir(`${path}/.overlay-work`, { mode: 0o755 });
};

/** Also what an earlier trial left that was killed. */
export const removeTrial = async (path: string, btrfs: Btrfs): Promise<void> => {
  if (await exists(path)) await btrfs.deleteSubvolumes([path]);
};
