import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { git, tryGit } from "./git.ts";

test("a repository that lies among a project's files is not taken for ours, nor its configuration obeyed", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-git-"));
  context.after(() => rmSync(directory, { recursive: true }));
  execFileSync("git", ["init", "--quiet", directory]);
  const planted = join(directory, "planted");
  const marker = join(directory, "was-run");
  for (const folder of ["objects", "refs"]) mkdirSync(join(planted, folder), { recursive: true });
  writeFileSync(join(planted, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(
    join(planted, "config"),
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ${directory}\n\tfsmonitor = "touch ${marker}; false"\n`,
  );
  const { code, stderr } = await tryGit(planted, ["status", "--porcelain"]);
  assert.equal(existsSync(marker), false, "a planted command was run");
  assert.notEqual(code, 0, stderr);
});

test("what git says is told, and arguments stay what they are", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-git-"));
  context.after(() => rmSync(directory, { recursive: true }));
  await assert.rejects(git(directory, ["rev-parse", "HEAD"], "It failed", "Do this."), {
    message: "It failed",
    cause_: /not a git repository/,
    next: "Do this.",
  });
  assert.equal(await git(directory, ["hash-object", "--stdin-paths"], "", ""), "");
  const { stderr } = await tryGit(directory, ["rev-parse", "$(touch x); `y`"]);
  assert.ok(!existsSync(join(directory, "x")), stderr);
});
