import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { root } from "../../tools/node24.mjs";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const name = `full-${process.pid.toString(36)}`;
const file = `/var/lib/holdfast-${name}.img`;
const disk = `/var/lib/holdfast-${name}`;
const data = join(disk, "data");
const gibibyte = 1024 ** 3;

let client: HoldfastClient;

const holdfast = (...argv: readonly string[]) =>
  run(process.execPath, [join(root, "bin/holdfast.mjs"), ...argv, "--instance", name, "--data", data], {
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", XDG_CONFIG_HOME: "/run/holdfast-test-home" },
  });

// A host whose disk has room for a pool of 2 GiB and what goes with it, and no more.
before(async () => {
  await run("truncate", ["--size", String(7.5 * gibibyte), file]);
  await run("mkfs.ext4", ["-q", "-m", "0", file]);
  await mkdir(disk, { recursive: true });
  await run("mount", ["-o", "loop", file, disk]);
  await holdfast("up", "--bare", "--pool-size", "2G");
  const settings = JSON.parse(await readFile(join(data, "instance.json"), "utf8")) as {
    readonly listen: readonly string[];
  };
  const token = (await readFile(join(data, "assistant-key"), "utf8")).trim();
  client = createClient({ baseUrl: `http://${settings.listen[0]}`, token });
});

after(async () => {
  await holdfast("down", "--delete-data", name);
  // Mount namespaces of other instances' cells that are being made hold copies for a moment.
  await until("the disk is free", () =>
    run("umount", [disk]).then(
      () => true,
      () => false,
    ),
  );
  await rm(disk, { recursive: true });
  await rm(file);
});

test("threat 85: on a host without a free block computers, files and the database go on, and the pool stays writable", async () => {
  const { id: computer } = await client.computers.create({ name: "before" });
  const { bavail, bsize } = await statfs(disk);
  await run("fallocate", ["--length", String(bavail * bsize - 1024 * 1024), join(disk, "hog")]).catch(
    () => undefined,
  );
  // The last blocks, which no single allocation gets.
  await writeFile(join(disk, "rest"), Buffer.alloc(64 * 1024 * 1024)).catch(() => undefined);
  assert.ok((await statfs(disk)).bavail * bsize < 1024 * 1024, "the disk is full");

  for (let round = 0; round < 5; round += 1) {
    const line =
      "dd if=/dev/urandom of=/work/data bs=1M count=64 conv=fsync 2> /dev/null && cat /work/data | wc -c";
    const result = await client.processes.exec({ computer, command: line, wait_ms: 50_000 });
    assert.equal(result.stdout, `${64 * 1024 * 1024}\n`, result.stderr);
  }
  const second = await client.computers.create({ name: "on-a-full-host" });
  assert.equal(second.state, "awake");
  assert.match(
    (await run("findmnt", ["--noheadings", "--output", "OPTIONS", join(data, "pool/fs")])).stdout,
    /^rw,/,
  );
  const { programs } = JSON.parse((await holdfast("status", "--json")).stdout) as {
    readonly programs: readonly { readonly ready: boolean }[];
  };
  assert.ok(programs.every(({ ready }) => ready));

  await rm(join(disk, "hog"));
  await client.computers.destroy({ computer });
  await client.computers.destroy({ computer: second.id });
});
