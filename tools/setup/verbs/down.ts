import { rm } from "node:fs/promises";
import process from "node:process";
import {
  findMount,
  placesOf,
  planLauncher,
  planPrograms,
  readRecord,
  recordPath,
  runningProgram,
  startKeeper,
  stopProgram,
  tryCommand,
  withLock,
  type InstanceSettings,
  type ProgramPlan,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { findInstance } from "../find-instance.ts";
import { createProgress, type Progress } from "../progress.ts";
import { removeFromProfile } from "../profile.ts";
import { askWhenAnswering } from "../ready.ts";
import { hostRegistry } from "../steps/instance.ts";
import { releaseMount } from "../steps/loop.ts";
import { lockPath } from "./up.ts";

/**
 * Stops the launcher, then the programs in the opposite order of their start, and takes the instance's mounts and /run away. What is
 * durable stays, unless it is to be deleted. With `--keep-cells` the computers go on running without anyone to ask.
 */
export const down = async (options: HostArguments): Promise<number> => {
  if (options.deleteData !== undefined && options.deleteData !== options.instance) {
    throw new Error(
      `--delete-data takes the name of the instance, ${options.instance}, so that nothing is deleted by mistake.`,
    );
  }
  const settings = await findInstance(options);
  if (!settings) {
    // Set-up that failed early leaves an entry in the registry and no settings.
    if (options.deleteData !== undefined) await hostRegistry().release(options.instance);
    return 0;
  }
  const progress = createProgress(process.stderr, () => systemClock.monotonic());
  return withLock(lockPath(options.instance), async () => {
    await stopAll(settings, options.keepCells, progress);
    if (!options.keepCells) await progress.step("mounts", () => release(settings));
    if (options.deleteData !== undefined && !options.keepCells) {
      await progress.step("data", async () => {
        await rm(settings.data, { recursive: true, force: true });
        await hostRegistry().release(settings.instance);
        await removeFromProfile(settings.instance);
        return { outcome: "done", detail: `${settings.data} is deleted`, value: undefined };
      });
    }
    return 0;
  });
};

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

/** Only a running supervisor can take cells down, so one that is dead is started once more. */
const clear = async (plan: ProgramPlan, settings: InstanceSettings): Promise<string> => {
  const places = placesOf(settings.instance, settings.data);
  const running = runningProgram(await readRecord(recordPath(places, plan.name)));
  if (!running) {
    if (!(await findMount(places.pool)) || !(await findMount(places.tree))) return "";
    await startKeeper(plan, { agent: settings.agent, log: places.log, records: places.records });
  }
  await askWhenAnswering(async () => plan.beforeStop?.(), systemClock);
  return ", computers taken down";
};

const release = async (settings: InstanceSettings) => {
  const places = placesOf(settings.instance, settings.data);
  const pool = await releaseMount(places.pool);
  const database = await releaseMount(places.postgres);
  const tree = (await findMount(places.tree)) !== undefined;
  if (tree) await tryCommand(["umount", "--lazy", places.tree]);
  // Never through a mount: what is still mounted below must not be deleted.
  const left = (await findMount(places.tree)) !== undefined;
  if (!left) await rm(places.run, { recursive: true, force: true });
  return {
    outcome: pool || database || tree ? ("done" as const) : ("skipped" as const),
    detail: "pool, database and program tree",
    value: undefined,
  };
};
