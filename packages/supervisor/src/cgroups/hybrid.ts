import type { Clock } from "@holdfast/kit";
import { allOver } from "../lib/all-over.ts";
import { exists, hasCode } from "../lib/files.ts";
import { children, field, make, read, readNumber, removeNested, write } from "./control-files.ts";
import { createCore } from "./core.ts";
import type { CellCgroups, CellLimits } from "./index.ts";

const controllers = ["cpu", "memory", "pids"] as const;
const periodUs = 100_000;
/** The kernel's own default, and a twentieth of it. */
const shares = { usual: 1024, low: 51 } as const;

/** Limits on v1, freezing, ending and processor time on the v2 hierarchy beside it. */
export const createHybrid = (options: {
  readonly root: string;
  readonly directory: string;
  readonly clock: Clock;
}): CellCgroups => {
  const core = createCore(options.clock);
  const own = (hierarchy: string): string => `${options.root}/${hierarchy}/${options.directory}`;
  const of = (hierarchy: string, name: string): string => `${own(hierarchy)}/${name}`;
  const core2 = (name: string): string => of("unified", name);
  const all = ["unified", ...controllers];

  const setLimits = async (name: string, limits: CellLimits): Promise<void> => {
    const processor = async (): Promise<void> => {
      await write(`${of("cpu", name)}/cpu.cfs_period_us`, String(periodUs));
      await write(`${of("cpu", name)}/cpu.cfs_quota_us`, String(limits.cpus * periodUs));
    };
    await allOver([
      setMemory(of("memory", name), limits.memoryBytes),
      write(`${of("pids", name)}/pids.max`, String(limits.pids)),
      processor(),
    ]);
  };

  const oomKills = async (name: string): Promise<number> =>
    field(await read(`${of("memory", name)}/memory.oom_control`), "oom_kill");

  return {
    layout: "hybrid",
    legacyControllers: controllers,
    prepare: async () => {
      for (const hierarchy of all) await make(own(hierarchy));
      await write(`${own("memory")}/memory.use_hierarchy`, "1");
    },
    create: async (name, limits) => {
      await allOver(all.map((hierarchy) => make(of(hierarchy, name))));
      await setLimits(name, limits);
      const legacy = Object.fromEntries(controllers.map((controller) => [controller, of(controller, name)]));
      return { legacy, unified: core2(name) };
    },
    setLimits,
    freeze: (name) => core.freeze(core2(name)),
    thaw: (name) => core.thaw(core2(name)),
    setShare: (name, share) => write(`${of("cpu", name)}/cpu.shares`, String(shares[share])),
    reclaim: async (name) => {
      const memory = of("memory", name);
      const before = await readNumber(`${memory}/memory.usage_in_bytes`);
      await write(`${memory}/memory.force_empty`, "0").catch((error: unknown) => {
        if (!hasCode(error, "EBUSY", "EAGAIN", "ENOENT", "ENODEV", "EINTR")) throw error;
      });
      return Math.max(0, before - (await readNumber(`${memory}/memory.usage_in_bytes`)));
    },
    reclaims: () => exists(`${own("memory")}/memory.force_empty`),
    kill: (name) => core.kill(core2(name)),
    remove: async (name) => {
      await allOver(all.map((hierarchy) => removeNested(of(hierarchy, name))));
    },
    state: (name) => core.state(core2(name)),
    usage: async (name) => {
      if ((await core.state(core2(name))) === undefined) return undefined;
      const memory = of("memory", name);
      const inactive = field(await read(`${memory}/memory.stat`), "total_inactive_file");
      return {
        cpuMs: await core.cpuMs(core2(name)),
        memoryBytes: Math.max(0, (await readNumber(`${memory}/memory.usage_in_bytes`)) - inactive),
        pids: await readNumber(`${of("pids", name)}/pids.current`),
        oomKills: await oomKills(name),
        // Of this very group, in which all processes of a cell are, whatever their groups in the v2 hierarchy.
        refusedForks: field(await read(`${of("pids", name)}/pids.events`), "max"),
      };
    },
    oomKills,
    watch: (name, changed) => core.watch(core2(name), changed),
    list: async () => [
      ...new Set((await Promise.all(all.map((hierarchy) => children(own(hierarchy))))).flat()),
    ],
    dispose: async () => {
      for (const hierarchy of all) await removeNested(own(hierarchy));
    },
  };
};

/** With swap counted, memory and memory + swap are one limit, so no swap is used; the larger of the two must be set first. */
const setMemory = async (cell: string, bytes: number): Promise<void> => {
  await write(`${cell}/memory.swappiness`, "0");
  const memory = `${cell}/memory.limit_in_bytes`;
  const withSwap = `${cell}/memory.memsw.limit_in_bytes`;
  await setSocketMemory(cell, bytes);
  if (!(await exists(withSwap))) return write(memory, String(bytes));
  const raised = bytes > (await readNumber(memory));
  for (const file of raised ? [withSwap, memory] : [memory, withSwap]) await write(file, String(bytes));
};

/** Buffers of sockets are the host's here, outside of every limit, unless they have one of their own; then it is this part of the memory. */
const socketShare = 1 / 4;

const setSocketMemory = async (cell: string, bytes: number): Promise<void> => {
  const file = `${cell}/memory.kmem.tcp.limit_in_bytes`;
  if (await exists(file)) await write(file, String(bytes * socketShare));
};
