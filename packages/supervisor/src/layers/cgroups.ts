import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { CellCgroups } from "../cgroups/index.ts";
import type { Layer } from "./index.ts";

/** Limits, freezing and ending, tried on a sleeping child of our own. */
export const cgroupsLayer = (open: () => Promise<CellCgroups>, trial: string): Layer => ({
  name: "cgroups",
  remedy:
    "Boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or with v1 cpu, memory and pids beside a v2 hierarchy at /sys/fs/cgroup/unified; kernel 5.15 or newer.",
  prove: async () => {
    const cgroups = await open();
    await cgroups.prepare();
    const name = `trial-${trial}`;
    // What a trial left that was killed: its process may be frozen, and would stay so for good.
    await cgroups.kill(name);
    await cgroups.remove(name);
    const places = await cgroups.create(name, { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 8 });
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const ended = once(child, "exit");
    try {
      const pid = String(child.pid);
      for (const directory of [places.unified, ...Object.values(places.legacy)])
        await writeFile(`${directory}/cgroup.procs`, pid, { flag: "r+" });
      await cgroups.freeze(name);
      if (!(await cgroups.state(name))?.frozen) throw new Error("a frozen cgroup does not say so");
      const reclaims = await cgroups.reclaims();
      if (reclaims) await cgroups.reclaim(name);
      await cgroups.setShare(name, "low");
      if ((await cgroups.usage(name))?.pids !== 1) throw new Error("the pids controller does not count");
      await cgroups.thaw(name);
      const state = await readFile(`/proc/${pid}/stat`, "utf8");
      await cgroups.freeze(name);
      await cgroups.kill(name);
      await ended;
      if (!state.includes("(sleep)")) throw new Error("another process was in the trial's cgroup");
      const memory = reclaims ? "memory of frozen cells is taken back" : "frozen cells keep their memory";
      return `${cgroups.layout}; limits, freeze and kill work; ${memory}`;
    } finally {
      child.kill("SIGKILL");
      await cgroups.kill(name);
      await cgroups.remove(name);
    }
  },
});
