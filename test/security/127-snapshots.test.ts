import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { createComputer, run } from "../support/computer.ts";
import { untilOnlyListed } from "../support/holding.ts";
import { hangMs, until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;
const pool = join(instance.data, "pool/fs");

/** Asks for subvolumes and snapshots in every place it can write to, with and without bits above the 32nd, for as long as it is let. */
const attacker = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(b"\\0" * 8 + b"mine".ljust(4088, b"\\0"), 4096)
print("at it", flush=True)
while True:
    for place in ("/work", "/work/deep", "/root", "/", "/tmp", "/var/lib"):
        fd = os.open(place, os.O_RDONLY)
        for number in (1, 14, 15, 23, 24, 26, 63):
            for high in (0, 1 << 32, 0xffffffff << 32):
                for direction in (0, 1, 2, 3):
                    request = direction << 30 | 4096 << 16 | 0x94 << 8 | number | high
                    if libc.syscall(ctypes.c_long(16), ctypes.c_long(fd), ctypes.c_ulong(request), buffer) >= 0: print("MADE", place, number, flush=True)
        os.close(fd)
`;

const subvolumesBelow = (path: string): string => {
  const listed = spawnSync("btrfs", ["subvolume", "list", "-o", path], { encoding: "utf8" });
  assert.equal(listed.status, 0, listed.stderr);
  return listed.stdout;
};

test("127: a cell that asks for subvolumes without end makes none: snapshots, restores, forks, quota and deletion stay whole", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "mkdir -p /work/deep; echo kept > /work/deep/kept");
  const argv = ["python3", "-c", attacker];
  const { id: attack } = await client.processes.start({ computer, argv, keep_awake: true });
  await until("it is at it", async () =>
    (await client.processes.output({ computer, process: attack })).stdout.startsWith("at it"),
  );
  for (const name of ["one", "two", "three"]) await client.snapshots.create({ computer, name });
  const fork = await client.computers.fork({ computer, name: "from-attacked", wait_ms: 50_000 });
  assert.equal(fork.state, "awake", fork.reason ?? "");
  assert.equal((await run(assistant, fork.id, "cat /work/deep/kept")).stdout, "kept\n");
  const { stdout } = await client.processes.output({ computer, process: attack });
  assert.equal(stdout, "at it\n");
  assert.equal(subvolumesBelow(join(pool, "supervisor/computers", computer)), "");
  const restored = await client.snapshots.restore({ computer, snapshot: "two", wait_ms: 50_000 });
  assert.equal(restored.computer.state, "awake", restored.computer.reason ?? "");
  assert.equal((await run(assistant, computer, "fallocate -l 6G /work/deep/too-much")).process.exit_code, 1);
  const usage = await client.computers.usage({ computer });
  assert.ok(usage.disk_bytes <= usage.disk_limit_bytes, JSON.stringify(usage));
  for (const id of [computer, fork.id]) await client.computers.destroy({ computer: id });
  await untilOnlyListed(instance);
});

test("127: a subvolume that is there all the same is found before anything is copied or deleted, and nothing is in the way once it is gone", async () => {
  const computer = await createComputer(assistant);
  await client.snapshots.create({ computer, name: "before" });
  const nested = join(pool, "supervisor/computers", computer, "work/nested");
  assert.equal(spawnSync("btrfs", ["subvolume", "create", nested]).status, 0);
  const found = { code: "computer_failed" };
  await assert.rejects(client.snapshots.create({ computer, name: "after" }), found);
  await assert.rejects(client.computers.fork({ computer, name: "after", wait_ms: 50_000 }), found);
  assert.equal((await client.computers.get({ computer })).state, "awake");
  const asked = client.computers.destroy({ computer }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.ok(
    subvolumesBelow(join(pool, "supervisor/computers", computer)).includes("nested"),
    "it is left as it is",
  );
  assert.equal(spawnSync("btrfs", ["subvolume", "delete", nested]).status, 0);
  await asked;
  await until("it is gone", () => !subvolumesBelow(pool).includes(computer), { withinMs: hangMs });
});
