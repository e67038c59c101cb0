import assert from "node:assert/strict";
import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Places } from "../lib/places.ts";
import { mendSockets } from "./sockets.ts";

test("an adopted cell's sockets get the groups of today, and one that is gone keeps no other from its own", async (context) => {
  const run = await mkdtemp(join(tmpdir(), "hf-sockets-"));
  context.after(() => rm(run, { recursive: true }));
  const places = { sockets: (id: string) => join(run, id) } as Places;
  const parts = { places, controlGid: 60_001, gatewayGid: 60_002 };
  const seen = async (...path: readonly string[]): Promise<string> => {
    const { mode, uid, gid } = await stat(join(run, ...path));
    return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`;
  };
  // As made by a supervisor that knew no gateway: one directory for control's group, the second socket for root's.
  await mkdir(join(run, "one"), { mode: 0o750 });
  await chown(join(run, "one"), 0, 60_001);
  for (const [name, gid] of [
    ["control.sock", 60_001],
    ["ingress.sock", 0],
  ] as const) {
    await writeFile(join(run, "one", name), "");
    await chown(join(run, "one", name), 0, gid);
    await chmod(join(run, "one", name), 0o660);
  }
  await mendSockets(parts, "one");
  assert.equal(await seen("one"), "0:0 711");
  assert.equal(await seen("one", "control.sock"), "0:60001 660");
  assert.equal(await seen("one", "ingress.sock"), "0:60002 660");

  await rm(join(run, "one", "control.sock"));
  await chown(join(run, "one", "ingress.sock"), 0, 0);
  await mendSockets(parts, "one");
  assert.equal(await seen("one", "ingress.sock"), "0:60002 660");
});
