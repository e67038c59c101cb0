import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { command, findMount, placesOf, tryCommand } from "@holdfast/launcher";
import { attachLoop, releaseMount } from "./loop.ts";
import { ensurePool } from "./pool.ts";

test("a pool whose set-up was cut off after it was mounted is guarded and counted by the next", async (context) => {
  const data = await mkdtemp(join(tmpdir(), "holdfast-pool-"));
  const places = placesOf("pool", data);
  context.after(async () => {
    await releaseMount(places.pool, places.poolFile);
    await rm(data, { recursive: true });
  });
  await command(["fallocate", "--length", String(256 * 1024 * 1024), places.poolFile]);
  await command(["mkfs.btrfs", "--quiet", places.poolFile]);
  await mkdir(places.pool, { recursive: true, mode: 0o700 });
  await command(["mount", "-t", "btrfs", await attachLoop(places.poolFile), places.pool]);

  assert.equal((await ensurePool(places, undefined)).outcome, "changed");
  assert.equal((await tryCommand(["btrfs", "qgroup", "show", places.pool])).status, 0, "quotas are on");
  const { options = [] } = (await findMount(places.pool)) ?? {};
  for (const option of ["nosuid", "nodev"]) assert.ok(options.includes(option), option);
  assert.equal((await ensurePool(places, undefined)).outcome, "skipped");
});
