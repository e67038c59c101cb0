import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { as } from "./profile.ts";

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
