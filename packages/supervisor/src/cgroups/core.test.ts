import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { createCore } from "./core.ts";

test("a group that takes long to freeze stays asked for, and says that it is on its way", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-core-"));
  context.after(() => rm(directory, { recursive: true }));
  // What the kernel says while one of the processes is in a long system call.
  await writeFile(join(directory, "cgroup.events"), "populated 1\nfrozen 0\n");
  await writeFile(join(directory, "cgroup.freeze"), "0");
  let now = 0;
  const core = createCore({ ...systemClock, monotonic: () => now, sleep: async (ms) => void (now += ms) });
  assert.deepEqual(await core.state(directory), { populated: true, frozen: false, freezing: false });
  await core.freeze(directory);
  assert.ok(now > 1000, "it was waited for");
  assert.deepEqual(await core.state(directory), { populated: true, frozen: false, freezing: true });
  await core.thaw(directory);
  assert.equal(await readFile(join(directory, "cgroup.freeze"), "utf8"), "0");
});
