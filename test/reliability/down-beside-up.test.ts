import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createHostRegistry, hostDirectory, withLock } from "@holdfast/launcher";
import { root } from "../../tools/node24.mjs";
import { until } from "../support/until.ts";

const name = `beside-${process.pid.toString(36)}`;
const data = `/var/lib/holdfast-${name}`;
const registry = createHostRegistry({ directory: hostDirectory, random: () => 7 });
after(() => registry.release(name));

/** Whether a child of it waits for this lock. */
const waitsFor = async (lock: string, pid: number): Promise<boolean> => {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")).trim();
  const open = children
    .split(" ")
    .filter(Boolean)
    .map((child) => readlink(`/proc/${child}/fd/3`).catch(() => ""));
  return (await Promise.all(open)).includes(lock);
};

test("`down --delete-data` leaves alone what an `up` under way has been given, until that has ended", async () => {
  const lock = join(hostDirectory, `${name}.lock`);
  let end: Promise<unknown> | undefined;
  await withLock(lock, async () => {
    // What `up` has done before it writes the settings.
    const { entry } = await registry.claim(name, data);
    const argv = ["tools/setup/main.ts", "down", "--instance", name, "--data", data, "--delete-data", name];
    const down = spawn(process.execPath, argv, { cwd: root, stdio: "ignore" });
    end = once(down, "exit");
    const { pid } = down;
    assert.ok(pid);
    await until("it waits or has ended", async () => down.exitCode !== null || (await waitsFor(lock, pid)), {
      withinMs: 20_000,
    });
    assert.deepEqual(await registry.find(name), entry, "its ids may be given to nobody else yet");
  });
  await end;
  assert.equal(await registry.find(name), undefined);
  await assert.rejects(access(lock), { code: "ENOENT" }, "nothing of the instance is left");
});
