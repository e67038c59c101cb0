import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { openCgroups, type CellCgroups } from "../cgroups/index.ts";
import { cgroupsLayer } from "./cgroups.ts";

test("cgroups are proven again after a trial that was killed while its process was frozen", async () => {
  const open = (): Promise<CellCgroups> =>
    openCgroups({ directory: `holdfast-layer-${process.pid}`, clock: systemClock });
  const cgroups = await open();
  await cgroups.prepare();
  const places = await cgroups.create("trial-serve", { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 8 });
  const left = spawn("sleep", ["60"], { stdio: "ignore" });
  const ended = once(left, "exit");
  try {
    for (const directory of [places.unified, ...Object.values(places.legacy)])
      await writeFile(`${directory}/cgroup.procs`, String(left.pid), { flag: "r+" });
    await cgroups.freeze("trial-serve");
    assert.match(await cgroupsLayer(open, "serve").prove(), /limits, freeze and kill work/);
    assert.deepEqual(await cgroups.list(), [], "nothing of either is left");
  } finally {
    left.kill("SIGKILL");
    await cgroups.kill("trial-serve");
    await ended;
    await cgroups.dispose();
  }
});
