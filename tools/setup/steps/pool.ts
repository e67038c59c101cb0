import { mkdir, rename, rm, statfs } from "node:fs/promises";
import { command, exists, findMount, type Places, tryCommand } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";
import { attachLoop } from "./loop.ts";

const gibibyte = 1024 ** 3;
const largestDefault = 50 * gibibyte;
const smallest = 2 * gibibyte;
/** What the host keeps beside the pool: the database's own file, logs and everything else on the same file system. */
const keptForHost = 3 * gibibyte;
const options = "nosuid,nodev,noatime,nodiscard";

/** How large a pool to make: as asked, else half of what is free up to 50 GiB. Throws when the host has too little. */
export const choosePoolBytes = (freeBytes: number, askedBytes: number | undefined): number => {
  const bytes = askedBytes ?? Math.min(largestDefault, Math.floor(freeBytes / 2 / gibibyte) * gibibyte);
  const inGib = (value: number): string => `${(value / gibibyte).toFixed(1)} GiB`;
  if (bytes < smallest) {
    throw new Error(
      `A pool of ${inGib(bytes)} is too small, computers need at least ${inGib(smallest)} together. ` +
        `${inGib(freeBytes)} are free: free more, or put --data on a larger disk.`,
    );
  }
  if (bytes + keptForHost > freeBytes) {
    throw new Error(
      `A pool of ${inGib(bytes)} leaves less than ${inGib(keptForHost)} of the ${inGib(freeBytes)} that are free. ` +
        `Ask for less with --pool-size, free some, or put --data on a larger disk.`,
    );
  }
  return bytes;
};

/**
 * The btrfs pool, mounted below a directory of root's alone: where the data directory is btrfs a subvolume of it, else a preallocated
 * file. A sparse file on a full host would turn the pool read-only for every computer at once.
 */
export const ensurePool = async (
  places: Places,
  askedBytes: number | undefined,
): Promise<StepResult<void>> => {
  const mount = await findMount(places.pool);
  if (mount) {
    // One that was cut off after mounting is brought to its end here.
    const isGuarded = ["nosuid", "nodev"].every((option) => mount.options.includes(option));
    if (!isGuarded) await guard(places.pool);
    const isCounted = !(await ensureQuota(places.pool));
    const outcome = isGuarded && isCounted ? "skipped" : "changed";
    return { outcome, detail: await describe(places), value: undefined };
  }
  const hasFile = await exists(places.poolFile);
  if (!hasFile && (await fileSystemOf(places.data)) === "btrfs") {
    const made = await mountSubvolume(places);
    return { outcome: made ? "done" : "changed", detail: await describe(places), value: undefined };
  }
  if (!hasFile) await makePoolFile(places, askedBytes);
  await mkdir(places.pool, { recursive: true, mode: 0o700 });
  await command(["mount", "-t", "btrfs", "-o", options, await attachLoop(places.poolFile), places.pool]);
  await ensureQuota(places.pool);
  return { outcome: hasFile ? "changed" : "done", detail: await describe(places), value: undefined };
};

const makePoolFile = async (places: Places, askedBytes: number | undefined): Promise<void> => {
  const { bavail, bsize } = await statfs(places.data);
  const bytes = choosePoolBytes(bavail * bsize, askedBytes);
  const fresh = `${places.poolFile}.new`;
  await rm(fresh, { force: true });
  await command(["fallocate", "--length", String(bytes), fresh]);
  await command(["chmod", "600", fresh]);
  await command(["mkfs.btrfs", "--quiet", "--nodiscard", fresh]);
  await rename(fresh, places.poolFile);
};

const mountSubvolume = async (places: Places): Promise<boolean> => {
  const made = !(await exists(places.pool));
  if (made) await command(["btrfs", "subvolume", "create", places.pool]);
  await command(["mount", "--bind", places.pool, places.pool]);
  await guard(places.pool);
  await ensureQuota(places.pool);
  return made;
};

const guard = (pool: string): Promise<string> => command(["mount", "-o", "remount,bind,nosuid,nodev", pool]);

/** Whether they were off. */
const ensureQuota = async (pool: string): Promise<boolean> => {
  if ((await tryCommand(["btrfs", "qgroup", "show", pool])).status === 0) return false;
  await command(["btrfs", "quota", "enable", pool]);
  return true;
};

const describe = async (places: Places): Promise<string> => {
  const { blocks, bavail, bsize } = await statfs(places.pool);
  return `${((blocks * bsize) / gibibyte).toFixed(0)} GiB btrfs, ${((bavail * bsize) / gibibyte).toFixed(1)} GiB free`;
};

const fileSystemOf = async (path: string): Promise<string> =>
  (await command(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", path])).trim();
