import { chmod, chown, mkdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import {
  command,
  exists,
  findMount,
  type InstanceSettings,
  lookUpUser,
  makeCluster,
  type Places,
  readMajor,
  removeTree,
  type UserIds,
  userNames,
  writeAccessFiles,
} from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";
import { attachLoop } from "./loop.ts";

const gibibyte = 1024 ** 3;
const firstBytes = gibibyte;
/** Doubled when less than this share of it is free, as far as the host has room. */
const leastFreeShare = 0.25;

/**
 * The private cluster in a preallocated file of its own, mounted at `<data>/postgres`: whatever fills the host, the database writes on.
 * Nothing where a shared server is used; a cluster that stands in a plain directory (on a disk of its own) is left there.
 */
export const ensureDatabase = async (
  settings: InstanceSettings,
  places: Places,
): Promise<StepResult<void>> => {
  const result = (outcome: StepResult<void>["outcome"], detail: string) => ({
    outcome,
    detail,
    value: undefined,
  });
  if (settings.database === "url") return result("skipped", "a shared server (HOLDFAST_DATABASE_URL)");
  const postgres = await lookUpUser(userNames.postgres);
  const mounted = (await findMount(places.postgres)) !== undefined;
  const hasFile = await exists(places.databaseFile);
  if (!mounted && !hasFile && (await readMajor(places.postgres)) === undefined)
    await makeFile(places, postgres);
  const isPlain = !mounted && !hasFile && (await readMajor(places.postgres)) !== undefined;
  if (!mounted && !isPlain) await mountFile(places);
  // Also where it is mounted: set-up may have been cut off in between.
  if (!isPlain) await giveAway(places, postgres);
  await writeAccessFiles(places.postgres, postgres);
  if (isPlain) return result("skipped", places.postgres);
  const grown = await growIfShort(places);
  const { blocks, bavail, bsize } = await statfs(places.postgres);
  const space = `${((bavail * bsize) / gibibyte).toFixed(1)} of ${((blocks * bsize) / gibibyte).toFixed(1)} GiB free`;
  return result(mounted ? (grown ? "changed" : "skipped") : hasFile ? "changed" : "done", space);
};

/** Filled from a whole cluster before it gets its name, so that it is whole or absent. */
const makeFile = async (places: Places, postgres: UserIds): Promise<void> => {
  const cluster = `${places.postgres}.new`;
  const fresh = `${places.databaseFile}.new`;
  await makeCluster(cluster, postgres);
  await rm(fresh, { force: true });
  await command(["fallocate", "--length", String(firstBytes), fresh]);
  await chmod(fresh, 0o600);
  await command(["mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", "-d", cluster, fresh]);
  await command(["sync", fresh]);
  await rename(fresh, places.databaseFile);
  await removeTree(cluster);
};

const mountFile = async (places: Places): Promise<void> => {
  await mkdir(places.postgres, { recursive: true, mode: 0o700 });
  const device = await attachLoop(places.databaseFile);
  await command(["mount", "-t", "ext4", "-o", "nosuid,nodev,noexec,noatime", device, places.postgres]);
};

const giveAway = async (places: Places, postgres: UserIds): Promise<void> => {
  // After a crash the server walks its whole directory, and this one is closed to it; e2fsck makes it again when it needs it.
  await removeTree(join(places.postgres, "lost+found"));
  await chown(places.postgres, postgres.uid, postgres.gid);
  await chmod(places.postgres, 0o700);
};

/** Whether it was made larger. Online; the database does not notice. */
const growIfShort = async (places: Places): Promise<boolean> => {
  const inside = await statfs(places.postgres);
  const host = await statfs(places.data);
  const { size } = await stat(places.databaseFile);
  if (inside.bavail >= inside.blocks * leastFreeShare || host.bavail * host.bsize < size + gibibyte)
    return false;
  await command(["fallocate", "--length", String(size * 2), places.databaseFile]);
  const device = await attachLoop(places.databaseFile);
  await command(["losetup", "--set-capacity", device]);
  await command(["resize2fs", device]);
  return true;
};
