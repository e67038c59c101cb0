import { readdir, readFile, writeFile } from "node:fs/promises";
import type { HoldfastClient } from "@holdfast/sdk";
import type { Instance } from "../../support/instance.ts";
import { proportionalMegabytes, residentMegabytes } from "./holdfast.ts";

/**
 * Idle memory, MB: all programs with Postgres (PSS, every process whose ancestors are the programs), one agent (RSS), and what each of
 * `count` idle computers takes of the host's available memory, caches dropped before both readings.
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

  const before = await availableMegabytes();
  for (let index = 0; index < count; index += 1) await client.computers.create({ name: `idle-x${index}` });
  const after = await availableMegabytes();
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
    perComputer: (before - after) / count,
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

const availableMegabytes = async (): Promise<number> => {
  await writeFile("/proc/sys/vm/drop_caches", "3");
  const text = await readFile("/proc/meminfo", "utf8");
  return Number(/MemAvailable:\s+(\d+)/.exec(text)?.[1] ?? Number.NaN) / 1024;
};
