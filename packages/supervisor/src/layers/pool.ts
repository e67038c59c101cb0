import { readFile, stat, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Btrfs } from "../volumes/btrfs.ts";
import { removeTrial } from "./trial-volume.ts";
import type { Layer } from "./index.ts";

const btrfsMagic = 0x9123683e;

/** Where the pool is, who can get there, and that a quota stops a writer. */
export const poolLayer = (options: {
  readonly pool: string;
  readonly places: Places;
  readonly btrfs: Btrfs;
  readonly trial: string;
}): Layer => ({
  name: "pool",
  remedy:
    "Run `holdfast up`: it makes the pool, preallocated, below a directory of root's alone, with quotas on.",
  prove: async () => {
    const { pool, places, btrfs, trial } = options;
    if ((await statfs(pool)).type !== btrfsMagic) throw new Error(`${pool} is not btrfs`);
    const above = await stat(dirname(pool));
    if (above.uid !== 0 || (above.mode & 0o077) !== 0)
      throw new Error(
        `${dirname(pool)} can be entered by others than root: ids on the pool are real users of the host`,
      );
    const flags = mountFlags(await readFile("/proc/self/mounts", "utf8"), pool);
    for (const flag of ["nosuid", "nodev"])
      if (!flags?.includes(flag)) throw new Error(`${pool} is not mounted ${flag}`);
    await makeDirectory(places.trials, 0o700);
    await refuseWithoutQuota(`${places.trials}/quota-${trial}`, pool, btrfs);
    return "btrfs, root only, nosuid, nodev; a quota stopped a writer";
  },
});

/** EDQUOT, which Node has no name for. */
const quotaExceeded = 122;
/** Volumes count from 2 (`volumes/`). */
const group = "1/1";

/** Beside a supervisor that forks a computer the kernel may count anew just then, and holds nobody to a limit meanwhile. */
const mostTries = 3;

const refuseWithoutQuota = async (path: string, pool: string, btrfs: Btrfs): Promise<void> => {
  for (let tries = 0; tries < mostTries; tries += 1) if (await isWriterStopped(path, pool, btrfs)) return;
  throw new Error("a quota of 1 MiB let 4 MiB be written; quotas are off (btrfs quota enable)");
};

const isWriterStopped = async (path: string, pool: string, btrfs: Btrfs): Promise<boolean> => {
  await removeTrial(path, btrfs);
  // Where the kernel has lost count this makes it count anew.
  await btrfs.groups(pool);
  await btrfs.createGroup(pool, group);
  await btrfs.limitGroup(pool, group, 1024 * 1024);
  await btrfs.createSubvolume(path, group);
  try {
    await writeFile(`${path}/file`, Buffer.alloc(4 * 1024 * 1024, 1));
  } catch (error) {
    if (error instanceof Error && "errno" in error && error.errno === -quotaExceeded) return true;
    throw error;
  } finally {
    await removeTrial(path, btrfs);
    await btrfs.tryDestroyGroup(pool, group);
  }
  return false;
};

/** Options of the mount at `path`, the last one if several are stacked. */
const mountFlags = (table: string, path: string): string[] | undefined =>
  table
    .split("\n")
    .map((line) => line.split(" "))
    .findLast((fields) => fields[1] === path.replaceAll(" ", "\\040"))?.[3]
    ?.split(",");
