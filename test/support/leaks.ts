import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What of an instance is on the host. A test compares before and after: whatever is more was left behind. */
export interface Traces {
  readonly cgroups: readonly string[];
  /** Mount points below the run directory, in this mount namespace. */
  readonly mounts: readonly string[];
  readonly namespaces: readonly string[];
  readonly links: readonly string[];
  readonly subvolumes: readonly string[];
  /** `pid command` of processes with an id of the instance's block, in its cgroups, or started with its short id. */
  readonly processes: readonly string[];
  /** Files of the run directory. */
  readonly files: readonly string[];
}

export interface TracedInstance {
  readonly shortId: string;
  /** `/run/holdfast/<instance>` */
  readonly run: string;
  readonly pool: string;
  /** First host id and number of ids. */
  readonly ids: readonly [number, number];
}

/** Everything here is named by the instance's short id, its directories or its id block, so nothing of others is counted. */
export const listTraces = async (instance: TracedInstance): Promise<Traces> => ({
  cgroups: await cgroups(`holdfast-${instance.shortId}`),
  mounts: (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(`${instance.run}/`)),
  namespaces: (await names("/run/netns")).filter((name) => name.startsWith(`hf${instance.shortId}-`)),
  links: await links(`hf${instance.shortId}-cellnet`),
  subvolumes: await subvolumes(instance.pool),
  processes: await processes(instance),
  files: (await readdir(instance.run, { recursive: true }).catch(() => [])).toSorted(),
});

/** Names what `after` has and `before` had not; empty when nothing was left. */
export const leftBehind = (before: Traces, after: Traces): string[] =>
  (Object.keys(after) as (keyof Traces)[]).flatMap((kind) => {
    const known = new Set(before[kind]);
    return after[kind].filter((trace) => !known.has(trace)).map((trace) => `${kind}: ${trace}`);
  });

const names = (directory: string): Promise<string[]> => readdir(directory).catch(() => []);

const cgroups = async (directory: string): Promise<string[]> => {
  const found: string[] = [];
  const walk = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    if (!entries) return;
    found.push(path);
    for (const entry of entries) if (entry.isDirectory()) await walk(join(path, entry.name));
  };
  await walk(`/sys/fs/cgroup/${directory}`);
  for (const hierarchy of await names("/sys/fs/cgroup"))
    await walk(`/sys/fs/cgroup/${hierarchy}/${directory}`);
  return found;
};

const links = async (namespace: string): Promise<string[]> => {
  const listed = await run("ip", ["-n", namespace, "-o", "link", "show", "type", "veth"]).catch(() => ({
    stdout: "",
  }));
  return listed.stdout.split("\n").flatMap((line) => /^\d+: ([^@:]+)/.exec(line)?.[1] ?? []);
};

const subvolumes = async (pool: string): Promise<string[]> => {
  const listed = await run("btrfs", ["subvolume", "list", pool]).catch(() => ({ stdout: "" }));
  return listed.stdout.split("\n").flatMap((line) => / path (.*)$/.exec(line)?.[1] ?? []);
};

const processes = async ({
  shortId,
  run: runDirectory,
  ids: [first, count],
}: TracedInstance): Promise<string[]> => {
  const found: string[] = [];
  for (const pid of await names("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
    const [status, cgroup, command] = await Promise.all(["status", "cgroup", "cmdline"].map(read));
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status ?? "")?.[1] ?? -1);
    const executable = await readlink(`/proc/${pid}/exe`).catch(() => "");
    const ours =
      (uid >= first && uid < first + count) ||
      (cgroup ?? "").includes(`/holdfast-${shortId}/`) ||
      (command ?? "").includes(runDirectory);
    if (ours && executable !== "") found.push(`${pid} ${(command ?? "").replaceAll("\0", " ").trim()}`);
  }
  return found;
};
