import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CliError } from "../errors.ts";
import { ConfigStore } from "./contexts.ts";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-private-"));
});
after(() => rm(directory, { recursive: true, force: true }));

test("what is written is private, and read back", async () => {
  const path = join(directory, "new/key");
  await writePrivateFile(path, "hf_1\n");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(join(directory, "new"))).mode & 0o777, 0o700);
  assert.equal(await readPrivateFile(path), "hf_1\n");
  assert.equal(await readPrivateFile(join(directory, "none")), undefined);
});

test("refused: readable by others, a link, a directory", async () => {
  const path = join(directory, "open");
  await writeFile(path, "hf_1");
  await chmod(path, 0o640);
  await assert.rejects(readPrivateFile(path), /is not used/);
  await symlink(path, join(directory, "link"));
  await assert.rejects(readPrivateFile(join(directory, "link")), /is not used/);
  await mkdir(join(directory, "folder"));
  await assert.rejects(readPrivateFile(join(directory, "folder")), CliError);
});

test("the store keeps what it does not know, and refuses what it cannot read", async () => {
  const store = new ConfigStore(join(directory, "config"));
  await writePrivateFile(
    store.path,
    JSON.stringify({
      version: 1,
      current: "a",
      later: true,
      contexts: { a: { url: "http://x", colour: "red" } },
    }),
  );
  const changed = await store.change((config) => ({ ...config, current: "b" }));
  assert.deepEqual(changed, {
    version: 1,
    current: "b",
    later: true,
    contexts: { a: { url: "http://x", colour: "red" } },
  });
  await writePrivateFile(store.path, '{"version":1');
  await assert.rejects(store.read(), /not a valid configuration/);
});
