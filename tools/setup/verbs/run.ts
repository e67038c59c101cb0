import process from "node:process";
import { once } from "node:events";
import { placesOf, readRecord, recordPath, runningProgram, withLock } from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { root } from "../../node24.mjs";
import { createProgress } from "../progress.ts";
import { setUp } from "../setup.ts";
import { lockPath, startPrograms } from "./up.ts";

/**
 * Brings the instance up and stays until its launcher ends or a signal comes; on a signal the launcher and all programs stay. What the
 * systemd unit runs: if the launcher dies, this ends with 1, the unit starts it again, and the programs that went on are adopted;
 * after a `down` it ends with 0.
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
  for (;;) {
    try {
      await systemClock.sleep(1000, stop.signal);
    } catch {
      return 0;
    }
    if (await launcherRuns(records)) continue;
    // An `up` or `down` under way may have ended it; only what is there after that counts.
    const end = await withLock(lockPath(options.instance), async () =>
      (await launcherRuns(records)) ? undefined : await readRecord(recordPath({ records }, "launcher")),
    );
    if (!end && (await launcherRuns(records))) continue;
    process.stderr.write("The launcher ended; the programs run on.\n");
    return !end || end.ended?.code === 0 ? 0 : 1;
  }
};

const launcherRuns = async (records: string): Promise<boolean> =>
  runningProgram(await readRecord(recordPath({ records }, "launcher"))) !== undefined;

/** Tells systemd, where it asked for it (Type=notify), through its own tool: Node has no datagram sockets of the Unix kind. */
const notifyReady = async (): Promise<void> => {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  const { spawn } = await import("node:child_process");
  await once(spawn("systemd-notify", ["--ready"], { stdio: "inherit" }), "exit");
};
