import { spawnSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { HoldfastClient } from "@holdfast/sdk";
import type { Instance } from "../../support/instance.ts";
import { proportionalMegabytes, residentMegabytes } from "./holdfast.ts";

/** What a computer may cost beside what its cgroup counts: its netns and mounts, and threads of the kernel. Of /proc/meminfo. */
const kernelFields = ["Slab", "KernelStack", "PageTables", "Percpu"] as const;

/**
 * Idle memory, MB: all programs with Postgres (PSS, every process whose ancestors are the programs), one agent (RSS), and what each of
 * `count` idle computers takes: the memory its cgroup counts plus the growth of the kernel's own, caches dropped before each reading. What
 * is in both (kernel memory that the cgroup is charged for) is counted twice. MemAvailable swings by more than all of it.
 */
export const idleMemory = async (instance: Instance, client: HoldfastClient, count: number) => {
  const programs = await instance.programs();
  const roots = Object.values(programs).flatMap(({ pid, keeper_pid }) =>
    [pid, keeper_pid].filter((id) => id !== null),
  );
  const parents = await parentsOfAll();
  const family = [...parents.keys()].filter((pid) =>
    roots.some((ancestor) => descends(pid, ancestor, parents)),
  );
  const outside = await Promise.all(
    family.map(async (pid) => ((await isInCell(pid)) ? 0 : proportionalMegabytes(pid))),
  );

  const before = await readMemory(instance);
  for (let index = 0; index < count; index += 1) await client.computers.create({ name: `idle-x${index}` });
  const after = await readMemory(instance);
  const agents = (
    await Promise.all(
      [...(await parentsOfAll()).keys()].map(async (pid) =>
        (await isAgent(pid)) ? residentMegabytes(pid) : 0,
      ),
    )
  ).filter((megabytes) => megabytes > 0);
  for (let index = 0; index < count; index += 1)
    await client.computers.destroy({ computer: `idle-x${index}` });
  return {
    programs: outside.reduce((sum, megabytes) => sum + megabytes, 0),
    agentResident: Math.max(0, ...agents),
    computers: count,
    perComputer: (after.cells + after.kernel - before.cells - before.kernel) / count,
    ofCgroups: (after.cells - before.cells) / count,
    ofKernel: (after.kernel - before.kernel) / count,
  };
};

const parentsOfAll = async (): Promise<ReadonlyMap<number, number>> => {
  const found = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/stat`, "utf8").catch(() => undefined);
    const parent = text && /\) \S (\d+) /.exec(text.slice(text.lastIndexOf(")")))?.[1];
    if (parent) found.set(Number(name), Number(parent));
  }
  return found;
};

const descends = (pid: number, ancestor: number, parents: ReadonlyMap<number, number>): boolean => {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
    if (at === ancestor) return true;
  return false;
};

const isAgent = async (pid: number): Promise<boolean> =>
  (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).startsWith("/.holdfast/agent\0");

const isInCell = async (pid: number): Promise<boolean> => {
  const map = await readFile(`/proc/${pid}/uid_map`, "utf8").catch(() => "");
  return map !== "" && !/^\s*0\s+0\s/.test(map);
};

/** Bytes counted, in MB (10^6), after a rest in which what was just started comes to an end. */
export const readMemory = async (instance: Instance): Promise<{ cells: number; kernel: number }> => {
  await new Promise((resolve) => setTimeout(resolve, 5000));
  spawnSync("sync");
  await writeFile("/proc/sys/vm/drop_caches", "3");
  const text = await readFile("/proc/meminfo", "utf8");
  const kernel = kernelFields
    .map((name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) * 1024)
    .reduce((sum, bytes) => sum + bytes, 0);
  const [v1, v2] = [
    `/sys/fs/cgroup/memory/holdfast-${instance.shortId}/memory.usage_in_bytes`,
    `/sys/fs/cgroup/holdfast-${instance.shortId}/memory.current`,
  ];
  const bytes = await readFile(v1, "utf8").catch(() => readFile(v2, "utf8"));
  return { cells: Number(bytes) / 1e6, kernel: kernel / 1e6 };
};
