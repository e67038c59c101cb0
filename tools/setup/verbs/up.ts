import { rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import {
  ensureCompiled,
  hostDirectory,
  placesOf,
  planLauncher,
  planPrograms,
  readAnnouncedLabels,
  readRecord,
  recordPath,
  runningProgram,
  startKeeper,
  stopProgram,
  withLock,
  type InstanceSettings,
  type Places,
  type ProgramPlan,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { root } from "../../node24.mjs";
import { refuseBusyAddresses } from "../free-address.ts";
import { createProgress, type Progress } from "../progress.ts";
import { setUp } from "../setup.ts";
import { waitUntilReady } from "../ready.ts";
import { welcome } from "../welcome.ts";

/** Sets the host up, sees to it that the launcher and all programs run as they should by now, and prints how to connect. */
export const up = async (options: HostArguments): Promise<number> => {
  const since = systemClock.monotonic();
  const progress = createProgress(process.stderr, () => systemClock.monotonic());
  const settings = await withLock(lockPath(options.instance), async () => {
    const ready = await setUp(options, root, progress);
    await startPrograms(ready, progress);
    return ready;
  });
  await welcome(settings, options, progress);
  const took = ((systemClock.monotonic() - since) / 1000).toFixed(1);
  process.stderr.write(
    progress.changed() ? `\nUp after ${took} s.\n` : `\nUp, nothing had to be changed (${took} s).\n`,
  );
  return 0;
};

/** Held by whatever changes the instance as a whole. */
export const lockPath = (instance: string): string => join(hostDirectory, `${instance}.lock`);

/** Only while it is held: who waits for it sees that it is gone, and takes the one that is there then. */
export const removeLock = (instance: string): Promise<void> => rm(lockPath(instance), { force: true });

/** Starts the launcher, and waits for every program. */
export const startPrograms = async (settings: InstanceSettings, progress: Progress): Promise<void> => {
  const places = placesOf(settings.instance, settings.data);
  const programs = await startLauncher(settings, progress);
  for (const program of programs) {
    await progress.step(program.name, () => waitUntilReady(program, places, systemClock));
  }
};

/** Starts the launcher, or leaves the one that runs if it is what would be started now. Answers what it will run. */
export const startLauncher = async (
  settings: InstanceSettings,
  progress: Progress,
): Promise<readonly ProgramPlan[]> => {
  const places = placesOf(settings.instance, settings.data);
  const plan = await planLauncher(settings, places);
  const programs = await planPrograms(settings, systemClock);
  await progress.step("compiled modules", async () => {
    const made = await Promise.all([plan, ...programs].map(ensureCompiled));
    return { outcome: made.includes(true) ? "done" : "skipped", detail: places.compiled, value: undefined };
  });
  await progress.step("launcher", async () => {
    const record = await readRecord(recordPath(places, plan.name));
    const running = runningProgram(record);
    if (running && record?.label === plan.label && (await means(running.pid, programs, places))) {
      return { outcome: "skipped", detail: `pid ${running.pid}`, value: undefined };
    }
    if (running) await stopProgram(plan, places, systemClock);
    else await refuseBusyAddresses(programs, places, systemClock);
    await startKeeper(plan, { agent: settings.agent, log: places.log, records: places.records });
    return { outcome: running ? "changed" : "done", detail: "started", value: undefined };
  });
  return programs;
};

/** Whether the launcher that runs means each program to be what would be started now: settings may have changed since it read them. */
const means = async (
  launcherPid: number,
  programs: readonly ProgramPlan[],
  { records }: Pick<Places, "records">,
): Promise<boolean> => {
  const announced = await readAnnouncedLabels(records, launcherPid);
  // One that has not announced has not planned either, and will from what is written by now.
  if (announced === undefined) return true;
  const isSame = programs.every(({ name, label }) => announced[name] === label);
  return isSame && Object.keys(announced).length === programs.length;
};
