import process from "node:process";
import { once } from "node:events";
import {
  createBackoff,
  placesOf,
  readAnnouncedLabels,
  readRecord,
  readSettings,
  recordPath,
  runningProgram,
  watchChanges,
  withLock,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { root } from "../../node24.mjs";
import { createProgress } from "../progress.ts";
import { setUp } from "../setup.ts";
import { lockPath, removeLock, startLauncher, startPrograms } from "./up.ts";

/**
 * Brings the instance up and stays, starting the launcher again when it dies; the programs go on meanwhile and are adopted. After a
 * `down` it ends with 0; on a signal too, and then the launcher and all programs stay. What the systemd unit runs: it throws when the
 * launcher cannot be started again, and the unit tries everything anew.
 */
export const run = async (options: HostArguments): Promise<number> => {
  const progress = createProgress(process.stderr, () => systemClock.monotonic());
  const settings = await withLock(lockPath(options.instance), async () => {
    const ready = await setUp(options, root, progress);
    await startPrograms(ready, progress);
    return ready;
  });
  await notifyReady();
  const { records } = placesOf(settings.instance, settings.data);
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => stop.abort());
  const backoff = createBackoff(Math.random, () => systemClock.monotonic());
  for (;;) {
    try {
      await untilLauncherEnds(records, stop.signal);
      await systemClock.sleep(backoff.next(await launcherServed(records)), stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return 0;
      throw error;
    }
    // An `up` or `down` under way may have ended it; only what is there after that counts.
    const over = await withLock(lockPath(options.instance), async () => {
      if (await launcherRuns(records)) return false;
      const record = await readRecord(recordPath({ records }, "launcher"));
      const now = await readSettings(settings.data);
      // Its `down` took the lock away with everything else before we made it again.
      if (!now) await removeLock(options.instance);
      if (!record || !now || record.ended?.code === 0) return true;
      process.stderr.write("The launcher ended; the programs run on, and it is started again.\n");
      // Not waited for: it may die again while it starts, which nobody but us would notice.
      await startLauncher(now, progress);
      return false;
    });
    if (over) return 0;
  }
};

/** How often it is looked at besides what the kernel tells: nobody notes the end of a launcher that was killed with its keeper. */
const lookEveryMs = 1000;

const untilLauncherEnds = async (records: string, signal: AbortSignal): Promise<void> => {
  if (!(await launcherRuns(records))) return;
  const changes = watchChanges(recordPath({ records }, "launcher"), systemClock);
  try {
    while (await launcherRuns(records)) await changes.next(lookEveryMs, signal);
  } finally {
    changes.close();
  }
};

/** Whether the launcher that ran last came to where it watches programs. */
const launcherServed = async (records: string): Promise<boolean> => {
  const record = await readRecord(recordPath({ records }, "launcher"));
  return record !== undefined && (await readAnnouncedLabels(records, record.program.pid)) !== undefined;
};

const launcherRuns = async (records: string): Promise<boolean> =>
  runningProgram(await readRecord(recordPath({ records }, "launcher"))) !== undefined;

/** Tells systemd, where it asked for it (Type=notify), through its own tool: Node has no datagram sockets of the Unix kind. */
const notifyReady = async (): Promise<void> => {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  const { spawn } = await import("node:child_process");
  await once(spawn("systemd-notify", ["--ready"], { stdio: "inherit" }), "exit");
};
