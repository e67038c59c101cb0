import { execFile } from "node:child_process";
import { readdir, readFile, readlink, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Instance } from "./instance.ts";
import { until } from "./until.ts";

const run = promisify(execFile);

/**
 * Leaves the host as a power cut and a boot would, for this instance alone: no process of its programs or cells, nothing in /run, no
 * mount, loop device, network namespace or cgroup. What is on disk stays as it was at that moment.
 */
export const simulateReboot = async (instance: Instance): Promise<void> => {
  const runDirectory = `/run/holdfast/${instance.name}`;
  await killAll(await ownProcesses(instance, runDirectory));
  for (const mount of await mountsBelow([`${runDirectory}/`, `${instance.data}/`])) {
    await run("umount", ["--lazy", mount.target]);
    if (mount.source.startsWith("/dev/loop")) await run("losetup", ["--detach", mount.source]);
  }
  const namespaces = await readdir("/run/netns").catch((): string[] => []);
  for (const name of namespaces.filter((each) => each.startsWith(`hf${instance.shortId}-`)))
    await run("ip", ["netns", "delete", name]);
  const hierarchies = await readdir("/sys/fs/cgroup", { withFileTypes: true });
  const roots = [".", ...hierarchies.filter((entry) => entry.isDirectory()).map(({ name }) => name)];
  for (const root of roots) await removeCgroup(join("/sys/fs/cgroup", root, `holdfast-${instance.shortId}`));
  await rm(runDirectory, { recursive: true, force: true });
};

/** Launcher and keepers first, so that nothing is started again meanwhile. */
const killAll = async (pids: readonly number[]): Promise<void> => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Ended with another one.
    }
  }
  await until("every process of the instance has ended", async () => {
    const states = await Promise.all(
      pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")),
    );
    return states.every((text) => text === "" || /^\d+ \(.*\) [ZX]/s.test(text));
  });
};

const ownProcesses = async (instance: Instance, runDirectory: string): Promise<readonly number[]> => {
  const records = join(runDirectory, "launcher");
  const kept: number[] = [];
  const names = (await readdir(records)).filter((name) => name.endsWith(".json") && name !== "plans.json");
  for (const name of names.toSorted((a) => (a === "launcher.json" ? -1 : 1))) {
    const { keeper, program } = JSON.parse(await readFile(join(records, name), "utf8")) as Record<
      "keeper" | "program",
      { readonly pid: number }
    >;
    kept.push(keeper.pid, program.pid);
  }
  const others: number[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const uid = await stat(`/proc/${pid}`).then(
      (found) => found.uid,
      () => -1,
    );
    const isCells = uid >= instance.uids.base && uid < instance.uids.base + instance.uids.count;
    const directory = await readlink(`/proc/${pid}/cwd`).catch(() => "");
    if (isCells || directory.startsWith(`${instance.data}/postgres`)) others.push(Number(pid));
  }
  return [...kept, ...others];
};

const mountsBelow = async (
  prefixes: readonly string[],
): Promise<readonly { readonly target: string; readonly source: string }[]> =>
  (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => ({
      target: line.split(" ")[4] ?? "",
      source: line.split(" - ")[1]?.split(" ")[1] ?? "",
    }))
    .filter(({ target }) => prefixes.some((prefix) => target.startsWith(prefix)))
    .toReversed();

const removeCgroup = async (path: string): Promise<void> => {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (!entries) return;
  for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
  await until(`the cgroup ${path} is empty`, () =>
    rmdir(path).then(
      () => true,
      () => false,
    ),
  );
};
