import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import {
  command,
  findMount,
  placesOf,
  planLauncher,
  planPrograms,
  readMounts,
  readRecord,
  recordPath,
  removeTree,
  runningProgram,
  startKeeper,
  stopProgram,
  tryCommand,
  withLock,
  type InstanceSettings,
  type ProgramPlan,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import { type HostArguments, wantedName } from "../arguments.ts";
import { findInstance } from "../find-instance.ts";
import { createProgress, type Progress } from "../progress.ts";
import { removeFromProfile } from "../profile.ts";
import { askWhenAnswering } from "../ready.ts";
import { removeCells } from "../steps/cells.ts";
import { hostRegistry } from "../steps/instance.ts";
import { releaseMount } from "../steps/loop.ts";
import { lockPath, removeLock } from "./up.ts";

/**
 * Stops the launcher, then the programs in the opposite order of their start, and takes the instance's mounts and /run away. What is
 * durable stays, unless it is to be deleted. With `--keep-cells` the computers go on running without anyone to ask.
 */
export const down = async (options: HostArguments): Promise<number> => {
  if (options.deleteData !== undefined && options.deleteData !== options.instance) {
    throw new Error(wantedName(options.instance));
  }
  const progress = createProgress(process.stderr, () => systemClock.monotonic());
  // Looked for under the lock: what an `up` under way has claimed so far is not nobody's.
  return withLock(lockPath(options.instance), async () => {
    const settings = await findInstance(options);
    if (!settings) {
      if (options.deleteData !== undefined) {
        await forget(options.instance);
        await removeLock(options.instance);
      }
      return 0;
    }
    await stopAll(settings, options.keepCells, progress);
    if (!options.keepCells) await progress.step("mounts", () => release(settings));
    if (options.deleteData !== undefined && !options.keepCells) {
      await progress.step("data", async () => {
        await deleteData(settings);
        await hostRegistry().release(settings.instance);
        const left = await removeFromProfile(settings.instance);
        await removeLock(settings.instance);
        const detail =
          left.length > 0 ? `${settings.data} is deleted${noneInUse(left)}` : `${settings.data} is deleted`;
        return { outcome: "done", detail, value: undefined };
      });
    }
    return 0;
  });
};

const noneInUse = (left: readonly string[]): string =>
  `. No context is in use now. Choose: holdfast contexts use <${left.join("|")}>`;

const stopAll = async (settings: InstanceSettings, keepCells: boolean, progress: Progress): Promise<void> => {
  const places = placesOf(settings.instance, settings.data);
  const plans = [...(await planPrograms(settings, systemClock))].reverse();
  for (const plan of [await planLauncher(settings, places), ...plans]) {
    await progress.step(plan.name, async () => {
      const cleared = plan.beforeStop && !keepCells ? await clear(plan, settings) : "";
      const stopped = await stopProgram(plan, places, systemClock);
      return {
        outcome: stopped ? "done" : "skipped",
        detail: `${stopped ? "stopped" : "was not running"}${cleared}`,
        value: undefined,
      };
    });
  }
};

/**
 * Asks the supervisor to take every cell down; one that is dead is started once more for it. Where there is none to ask, because set-up
 * never came that far, or it cannot start, the cells are ended by their names.
 */
const clear = async (plan: ProgramPlan, settings: InstanceSettings): Promise<string> => {
  const places = placesOf(settings.instance, settings.data);
  const running = runningProgram(await readRecord(recordPath(places, plan.name)));
  const mayStart =
    settings.image !== null && (await findMount(places.pool)) && (await findMount(places.tree));
  try {
    if (!running && mayStart)
      await startKeeper(plan, { agent: settings.agent, log: places.log, records: places.records });
    if (running || mayStart) {
      await askWhenAnswering(async () => plan.beforeStop?.(), systemClock);
      return ", computers taken down";
    }
  } catch (error) {
    process.stderr.write(
      `The supervisor could not be asked: ${error instanceof Error ? error.message : ""}\n`,
    );
  }
  // It would make again what is taken away here.
  await stopProgram(plan, places, systemClock);
  return (await removeCells(settings.short_id, systemClock)) ? ", computers ended" : "";
};

const release = async (settings: InstanceSettings) => {
  const places = placesOf(settings.instance, settings.data);
  const pool = await releaseMount(places.pool, places.poolFile);
  const database = await releaseMount(places.postgres, places.databaseFile);
  const tree = (await findMount(places.tree)) !== undefined;
  if (tree) await tryCommand(["umount", "--lazy", places.tree]);
  // Never through a mount: what is still mounted below must not be deleted.
  const left = (await findMount(places.tree)) !== undefined;
  if (!left) await removeTree(places.run);
  return {
    outcome: pool || database || tree ? ("done" as const) : ("skipped" as const),
    detail: "pool, database and program tree",
    value: undefined,
  };
};

/** Refuses while anything is mounted below: it would be deleted through the mount. */
const deleteData = async (settings: InstanceSettings): Promise<void> => {
  const mounted = (await readMounts()).find(({ target }) => target.startsWith(`${settings.data}/`));
  if (mounted) throw new Error(`${mounted.target} is still mounted. Unmount it and run this again.`);
  await deleteSubvolumes(placesOf(settings.instance, settings.data).pool);
  await removeTree(settings.data);
};

/** Where the data directory is btrfs itself, the pool is a subvolume with others in it, some of them read-only. */
const deleteSubvolumes = async (pool: string): Promise<void> => {
  const isSubvolume = async (path: string): Promise<boolean> =>
    (await tryCommand(["btrfs", "subvolume", "show", path])).status === 0;
  if (!(await isSubvolume(pool))) return;
  for (const directory of [
    "images",
    ...["computers", "snapshots", "archives", "swaps", "trials"].map((name) => `supervisor/${name}`),
  ])
    for (const name of await readdir(join(pool, directory)).catch(() => []))
      if (await isSubvolume(join(pool, directory, name)))
        await command(["btrfs", "subvolume", "delete", join(pool, directory, name)]);
  await command(["btrfs", "subvolume", "delete", pool]);
};

/** Set-up that was cut off before it wrote the settings leaves an entry in the registry and at most an empty data directory. */
const forget = async (instance: string): Promise<void> => {
  const entry = await hostRegistry().find(instance);
  if (!entry) return;
  for (const name of await readdir(entry.data).catch(() => []))
    if (/^\.instance\.json\.\d+\.new$/.test(name)) await rm(join(entry.data, name));
  // Anything else in it was not made by set-up, and stays.
  await rmdir(entry.data).catch(() => undefined);
  await hostRegistry().release(instance);
  process.stderr.write(`Its set-up had only begun; what there was of it is taken away.\n`);
};
