import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { as, removeFrom } from "./profile.ts";

const nobody = { uid: 65_534, gid: 65_534 };

test("what is done as a person is done without root's groups, and root has them again afterwards", async () => {
  const before = process.getgroups?.() ?? [];
  const directory = await mkdtemp(join(tmpdir(), "holdfast-profile-"));
  try {
    // Also where root is in no group besides its own.
    process.setgroups?.([0, 6]);
    await chmod(directory, 0o755);
    await writeFile(join(directory, "of-roots-group"), "", { mode: 0o040 });
    const seen = await as(nobody, async () => ({
      groups: process.getgroups?.(),
      read: await readFile(join(directory, "of-roots-group")).then(
        () => "read",
        (error: NodeJS.ErrnoException) => error.code,
      ),
    }));
    assert.deepEqual(seen, { groups: [nobody.gid], read: "EACCES" });
    assert.deepEqual(process.getgroups?.(), [0, 6]);
  } finally {
    process.setgroups?.(before);
    await rm(directory, { recursive: true });
  }
});

test("a deleted instance's context goes, and if it was in use none is: nobody chose another", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-profile-"));
  context.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, "keys"));
  const path = join(directory, "config.json");
  const write = async (current: string, ...names: readonly string[]): Promise<void> => {
    const contexts = Object.fromEntries(
      names.map((name) => [name, { url: "", key_file: `keys/${name}.key` }]),
    );
    await writeFile(path, JSON.stringify({ version: 1, current, contexts }));
  };
  const read = async () => JSON.parse(await readFile(path, "utf8")) as { current: string; contexts: object };
  await write("gone", "first", "gone", "last");
  assert.deepEqual(await removeFrom(directory, "gone"), ["first", "last"]);
  const { current, contexts } = await read();
  assert.deepEqual([current, Object.keys(contexts)], ["gone", ["first", "last"]]);
  await write("first", "first", "gone");
  assert.deepEqual(await removeFrom(directory, "gone"), [], "the one in use stays");
  assert.equal((await read()).current, "first");
  assert.deepEqual(await removeFrom(directory, "gone"), [], "done before");
  assert.deepEqual(await removeFrom(directory, "first"), []);
  await assert.rejects(read(), { code: "ENOENT" });
});
