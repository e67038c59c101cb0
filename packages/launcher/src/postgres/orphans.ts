import { readdir, readlink, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { identify, isAlive, signal, type ProcessIdentity } from "../host/process.ts";
import { systemClock } from "@holdfast/kit";

/**
 * Ends what a killed Postgres left: its backends hold the shared memory, and a new server refuses to start beside them. They are asked
 * for an immediate end, then killed. Afterwards nobody runs in `directory`, so a pid file in it is stale even where its number now
 * belongs to another instance's server of the same user. Only called when no server of ours runs there.
 */
export const clearOrphans = async (directory: string, uid: number): Promise<void> => {
  const orphans = await findOrphans(directory, uid);
  for (const orphan of orphans) signal(orphan, "SIGQUIT");
  if (!(await allEnd(orphans, 500))) {
    for (const orphan of orphans) signal(orphan, "SIGKILL");
    if (!(await allEnd(orphans, 5000))) {
      throw new Error(
        `Processes of an earlier Postgres do not end: ${orphans.map(({ pid }) => pid).join(", ")}.`,
      );
    }
  }
  await rm(join(directory, "postmaster.pid"), { force: true });
};

/** Every process of Postgres has its data directory as its working directory. */
const findOrphans = async (directory: string, uid: number): Promise<readonly ProcessIdentity[]> => {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // Who it is comes first: the number may pass to a process of somebody else's between two looks.
    const identity = identify(Number(name));
    if (!identity) continue;
    try {
      if ((await stat(`/proc/${name}`)).uid !== uid || (await readlink(`/proc/${name}/cwd`)) !== directory)
        continue;
    } catch {
      continue;
    }
    if (isAlive(identity)) found.push(identity);
  }
  return found;
};

const allEnd = async (processes: readonly ProcessIdentity[], withinMs: number): Promise<boolean> => {
  const until = systemClock.monotonic() + withinMs;
  while (processes.some(isAlive)) {
    if (systemClock.monotonic() > until) return false;
    await systemClock.sleep(20);
  }
  return true;
};
