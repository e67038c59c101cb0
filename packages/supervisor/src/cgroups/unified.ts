import type { Clock } from "@holdfast/kit";
import { exists, hasCode } from "../lib/files.ts";
import { children, field, make, read, readNumber, removeNested, write } from "./control-files.ts";
import { createCore } from "./core.ts";
import type { CellCgroups, CellLimits } from "./index.ts";

const periodUs = 100_000;
/** The kernel's own default, and a twentieth of it. */
const weights = { usual: 100, low: 5 } as const;

/** Everything on the v2 hierarchy. */
export const createUnified = (options: {
  readonly root: string;
  readonly directory: string;
  readonly clock: Clock;
}): CellCgroups => {
  const core = createCore(options.clock);
  const own = `${options.root}/${options.directory}`;
  const of = (name: string): string => `${own}/${name}`;

  const setLimits = async (name: string, limits: CellLimits): Promise<void> => {
    const cell = of(name);
    await write(`${cell}/memory.swap.max`, "0");
    await write(`${cell}/memory.max`, String(limits.memoryBytes));
    await write(`${cell}/pids.max`, String(limits.pids));
    await write(`${cell}/cpu.max`, `${limits.cpus * periodUs} ${periodUs}`);
  };

  const oomKills = async (name: string): Promise<number> =>
    field(await read(`${of(name)}/memory.events`), "oom_kill");

  return {
    layout: "unified",
    legacyControllers: [],
    prepare: async () => {
      await write(`${options.root}/cgroup.subtree_control`, "+cpu +memory +pids");
      await make(own);
      await write(`${own}/cgroup.subtree_control`, "+cpu +memory +pids");
    },
    create: async (name, limits) => {
      await make(of(name));
      await setLimits(name, limits);
      return { legacy: {}, unified: of(name) };
    },
    setLimits,
    freeze: (name) => core.freeze(of(name)),
    thaw: (name) => core.thaw(of(name)),
    setShare: (name, share) => write(`${of(name)}/cpu.weight`, String(weights[share])),
    reclaim: (name) => reclaim(of(name)),
    reclaims: () => exists(`${own}/memory.reclaim`),
    kill: (name) => core.kill(of(name)),
    remove: (name) => removeNested(of(name)),
    state: (name) => core.state(of(name)),
    usage: async (name) => {
      const cell = of(name);
      if ((await core.state(cell)) === undefined) return undefined;
      const inactive = field(await read(`${cell}/memory.stat`), "inactive_file");
      return {
        cpuMs: await core.cpuMs(cell),
        memoryBytes: Math.max(0, (await readNumber(`${cell}/memory.current`)) - inactive),
        pids: await readNumber(`${cell}/pids.current`),
        oomKills: await oomKills(name),
        // Before Linux 6.11 it is counted where the process is, which is here unless the cell has limits of its own below.
        refusedForks: field(await read(`${cell}/pids.events`), "max"),
      };
    },
    oomKills,
    watch: (name, changed) => core.watch(of(name), changed),
    list: () => children(own),
    dispose: () => removeNested(own),
  };
};

/** The kernel says EAGAIN when it could not take back as much as asked, which is what we ask for. */
const reclaim = async (cell: string): Promise<number> => {
  const before = await readNumber(`${cell}/memory.current`);
  await write(`${cell}/memory.reclaim`, String(before)).catch((error: unknown) => {
    if (!hasCode(error, "EAGAIN", "ENOENT", "ENODEV", "EINTR")) throw error;
  });
  return Math.max(0, before - (await readNumber(`${cell}/memory.current`)));
};
