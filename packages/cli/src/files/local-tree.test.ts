import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CliError } from "../errors.ts";
import { openLocal, tarOf } from "./local-tree.ts";

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-tree-"));
  await writeFile(join(directory, "secret"), "of the host");
});
after(() => rm(directory, { recursive: true, force: true }));

const pack = async (path: string): Promise<{ readonly tar: Buffer; readonly skipped: readonly string[] }> => {
  const handle = await openLocal(path);
  const skipped: string[] = [];
  try {
    const chunks = await Array.fromAsync(
      tarOf(handle, { skipped: (name) => skipped.push(name), sent: () => {} }),
    );
    return { tar: Buffer.concat(chunks), skipped };
  } finally {
    await handle.close();
  }
};

test("a tree arrives as it was, by the word of another tar", async () => {
  const tree = join(directory, "tree");
  const long = `${"d".repeat(90)}/${"e".repeat(60)}/file with ü and spaces`;
  await mkdir(join(tree, long, ".."), { recursive: true });
  await mkdir(join(tree, "empty"));
  await writeFile(join(tree, long), "deep");
  await writeFile(join(tree, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(join(tree, "block"), Buffer.alloc(512, 7));
  const { skipped, tar } = await pack(tree);
  const out = join(directory, "out");
  await mkdir(out);
  execFileSync("tar", ["-xf", "-", "-C", out], { input: tar });
  assert.equal(await readFile(join(out, long), "utf8"), "deep");
  assert.deepEqual(await readFile(join(out, "block")), Buffer.alloc(512, 7));
  assert.equal((await stat(join(out, "run.sh"))).mode & 0o777, 0o755);
  assert.ok((await stat(join(out, "empty"))).isDirectory());
  assert.deepEqual(skipped, []);
});

test("links are never followed: one given is refused, those inside stay links", async () => {
  const tree = join(directory, "linked");
  await mkdir(tree);
  await symlink("../secret", join(tree, "file-link"));
  await symlink("..", join(tree, "folder-link"));
  await symlink(tree, join(directory, "tree-link"));
  await symlink(join(directory, "secret"), join(directory, "secret-link"));
  for (const path of ["tree-link", "tree-link/", "secret-link"])
    await assert.rejects(openLocal(`${directory}/${path}`), CliError, path);
  const { tar } = await pack(tree);
  assert.ok(!tar.includes("of the host"));
  const out = join(directory, "linked-out");
  await mkdir(out);
  execFileSync("tar", ["-xf", "-", "-C", out], { input: tar });
  assert.equal(await readlink(join(out, "file-link")), "../secret");
  assert.equal(await readlink(join(out, "folder-link")), "..");
});

test("a FIFO is passed over and said so, and does not block", async () => {
  const tree = join(directory, "pipes");
  await mkdir(tree);
  execFileSync("mkfifo", [join(tree, "pipe")]);
  const { skipped } = await pack(tree);
  assert.deepEqual(skipped, ["pipe"]);
});
