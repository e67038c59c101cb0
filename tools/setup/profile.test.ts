import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { InstanceSettings } from "@holdfast/launcher";
import { as, invokingUser, removeFrom, writeInto } from "./profile.ts";

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

test("with sudo, context and key go to the home of who called it; without, to root's", async () => {
  const look = (uid: string): Promise<string> =>
    Promise.resolve(`person:x:${uid}:1234:Person:/home/person:/bin/sh\n`);
  assert.deepEqual(
    await invokingUser({ SUDO_UID: "1234", SUDO_GID: "1235", XDG_CONFIG_HOME: "/root/.config" }, look),
    { uid: 1234, gid: 1235, configuration: "/home/person/.config" },
  );
  assert.deepEqual(await invokingUser({ XDG_CONFIG_HOME: "/root/elsewhere" }, look), {
    uid: 0,
    gid: 0,
    configuration: "/root/elsewhere",
  });
});

test("what is written for a person follows no link that only root could", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-profile-"));
  context.after(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o755);
  const [home, root] = [join(directory, "home"), join(directory, "of-root")];
  await mkdir(root, { mode: 0o700 });
  await mkdir(home);
  await symlink(root, join(home, "holdfast"));
  const settings = { instance: "default", listen: ["127.0.0.1:7300"] } as unknown as InstanceSettings;
  await assert.rejects(
    as(nobody, () => writeInto(join(home, "holdfast"), settings, "hf_key")),
    {
      code: "EACCES",
    },
  );
  assert.deepEqual(await readdir(root), []);
});
