import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { root } from "../../tools/node24.mjs";
import { onInterruption } from "../support/interruption.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const name = `full-${process.pid.toString(36)}`;
const file = `/var/lib/holdfast-${name}.img`;
const disk = `/var/lib/holdfast-${name}`;
const data = join(disk, "data");
const gibibyte = 1024 ** 3;
/** Few, so that they are soon all in use. */
const inodes = 8192;

let client: HoldfastClient;

const holdfast = (...argv: readonly string[]) =>
  run(process.execPath, [join(root, "bin/holdfast.mjs"), ...argv, "--instance", name, "--data", data], {
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", XDG_CONFIG_HOME: "/run/holdfast-test-home" },
  });

// A host whose disk has room for a pool of 2 GiB and what goes with it, and no more.
before(async () => {
  await run("truncate", ["--size", String(7.5 * gibibyte), file]);
  await run("mkfs.ext4", ["-q", "-m", "0", "-N", String(inodes), file]);
  await mkdir(disk, { recursive: true });
  await run("mount", ["-o", "loop", file, disk]);
  await holdfast("up", "--bare", "--pool-size", "2G");
  const settings = JSON.parse(await readFile(join(data, "instance.json"), "utf8")) as {
    readonly listen: readonly string[];
  };
  const token = (await readFile(join(data, "assistant-key"), "utf8")).trim();
  client = createClient({ baseUrl: `http://${settings.listen[0]}`, token });
});

/** What `before` has come to by then. */
const takeAway = async (): Promise<void> => {
  await holdfast("down", "--delete-data", name);
  // Mount namespaces of other instances' cells that are being made hold copies for a moment: seconds on a busy machine.
  let said = "";
  const isMounted = async (): Promise<boolean> =>
    (await readFile("/proc/self/mountinfo", "utf8")).includes(` ${disk} `);
  await until(
    "the disk is free",
    async () => {
      if (!(await isMounted())) return true;
      await run("umount", [disk]).catch((error: unknown) => (said = String(error)));
      return false;
    },
    { withinMs: 60_000, detail: () => said },
  );
  await rm(disk, { recursive: true, force: true });
  await rm(file, { force: true });
};
const forget = onInterruption(takeAway);
after(async () => {
  await takeAway();
  forget();
});

test("threat 85: on a host without a free block computers, files and the database go on, and the pool stays writable", async () => {
  const { id: computer } = await client.computers.create({ name: "before" });
  const { bavail, bsize } = await statfs(disk);
  await run("fallocate", ["--length", String(bavail * bsize - 1024 * 1024), join(disk, "hog")]).catch(
    () => undefined,
  );
  // The last blocks, which no single allocation gets; the file system goes on freeing some of its own for a while.
  let left = 0;
  for (let round = 0; round < 20; round += 1) {
    await writeFile(join(disk, `rest-${round}`), Buffer.alloc(64 * 1024 * 1024)).catch(() => undefined);
    left = (await statfs(disk)).bavail * bsize;
    if (left < 1024 * 1024) break;
  }
  assert.ok(left < 1024 * 1024, `the disk is full but for ${left} bytes`);

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
  for (let round = 0; round < 20; round += 1) await rm(join(disk, `rest-${round}`), { force: true });
  await client.computers.destroy({ computer });
  await client.computers.destroy({ computer: second.id });
});

test("threat 85: on a host without a free inode computers are made, run and are destroyed, and every program is ready", async () => {
  const { id: computer } = await client.computers.create({ name: "before-inodes" });
  const directory = join(disk, "many");
  await mkdir(directory);
  const full = await fillInodes(directory);
  assert.equal(full, "ENOSPC");
  assert.equal((await statfs(disk)).ffree, 0, "no inode is left");

  const result = await client.processes.exec({
    computer,
    command: "echo more > /work/file && cat /work/file",
  });
  assert.equal(result.stdout, "more\n", result.stderr);
  const second = await client.computers.create({ name: "without-inodes" });
  assert.equal(second.state, "awake", second.reason ?? "");
  await client.computers.destroy({ computer: second.id });
  const { programs } = JSON.parse((await holdfast("status", "--json")).stdout) as {
    readonly programs: readonly { readonly ready: boolean }[];
  };
  assert.ok(programs.every(({ ready }) => ready));
  await rm(directory, { recursive: true });
  await client.computers.destroy({ computer });
});

/** How it ended: the error's code. */
const fillInodes = async (directory: string): Promise<string> => {
  for (let made = 0; made <= inodes; made += 1) {
    const error = await writeFile(join(directory, String(made)), "").catch((failure: unknown) => failure);
    if (error instanceof Error) return "code" in error ? String(error.code) : error.message;
  }
  return "never full";
};

const mostFiles = 200_000;

test("threat 85: small files stop at the quota; list, delete and exec go on, another computer too, and the space comes back", async () => {
  const { id: computer } = await client.computers.create({ name: "many-files" });
  const { id: other } = await client.computers.create({ name: "neighbour" });
  const fill = [
    "import os, sys, time",
    "os.makedirs('/work/many', exist_ok=True)",
    "made, end, piece = len(os.listdir('/work/many')), time.time() + 30, b'x' * 16000",
    "try:",
    "    while time.time() < end:",
    "        with open(f'/work/many/{made}', 'wb') as file: file.write(piece)",
    "        made += 1",
    "    print('more', made)",
    "except OSError as error: print(error.errno, made)",
  ].join("\n");
  let [how, made] = ["more", 0];
  while (how === "more") {
    const { stdout, stderr } = await client.processes.exec({
      computer,
      argv: ["python3", "-c", fill],
      wait_ms: 50_000,
    });
    const [word = stderr, count = "0"] = stdout.trim().split(" ");
    [how, made] = [word, Number(count)];
  }
  assert.match(how, /^(28|122)$/, "no space, or over quota");
  assert.ok(made > 1000 && made <= mostFiles, `${made} files`);

  const { entries } = await client.files.list({ computer, path: "/work/many", limit: 10 });
  assert.equal(entries.length, 10);
  assert.equal((await client.processes.exec({ computer, argv: ["/bin/true"] })).process.exit_code, 0);
  assert.equal((await client.processes.exec({ computer: other, argv: ["/bin/true"] })).process.exit_code, 0);
  const removed = await client.processes.exec({
    computer,
    command: "rm -rf /work/many && sync && echo gone",
    wait_ms: 50_000,
  });
  assert.equal(removed.stdout, "gone\n", removed.stderr);
  await until(
    "it can write again",
    async () =>
      (await client.processes.exec({ computer, command: "head -c 1M /dev/zero > /work/again && sync" }))
        .process.exit_code === 0,
    { withinMs: 60_000 },
  );
  await client.computers.destroy({ computer });
  await client.computers.destroy({ computer: other });
});
