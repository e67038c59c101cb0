import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { command, type Places } from "@holdfast/launcher";
import { ensureTree } from "./directories.ts";

const nobody = { uid: 65_534, gid: 65_534 };

test("a clone that is shut to everybody, down from its own directory, is shown to the programs' users", async (context) => {
  const source = await mkdtemp(join(tmpdir(), "hf-tree-source-"));
  const tree = await mkdtemp(join(tmpdir(), "hf-tree-"));
  context.after(async () => {
    spawnSync("umount", [tree]);
    await rm(source, { recursive: true });
    await rm(tree, { recursive: true });
  });
  for (const name of ["packages", "policy", "node_modules"]) await mkdir(join(source, name), { mode: 0o700 });
  for (const name of ["package.json", "packages/main.ts"])
    await writeFile(join(source, name), "here", { mode: 0o600 });
  await chmod(source, 0o700);

  const { outcome, detail } = await ensureTree(source, { tree } as Places);
  assert.equal(outcome, "done");
  assert.match(detail, /mode of this directory is 711 now, was 700/);
  assert.equal(await command(["cat", join(tree, "packages/main.ts")], { user: nobody }), "here");
  // What else lies in it is not listed to anybody.
  assert.equal((await stat(source)).mode & 0o7777, 0o711);
  assert.deepEqual(await ensureTree(source, { tree } as Places), {
    outcome: "skipped",
    detail: source,
    value: undefined,
  });
});
