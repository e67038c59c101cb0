import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pack } from "./build.ts";

test("what the builder's user put in the image's place is not packed for everybody to read", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-pack-"));
  context.after(() => rm(directory, { recursive: true }));
  const [secret, tar, archive] = ["secret", "image.tar", "archive"].map((name) => join(directory, name));
  assert.ok(secret && tar && archive);
  await writeFile(secret, "root's");
  await symlink(secret, tar);
  await assert.rejects(pack(tar, archive), { code: "ELOOP" });
  assert.deepEqual((await readdir(directory)).toSorted(), ["image.tar", "secret"]);
});
