import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { unifiedDiff } from "./unified-diff.ts";

test("what `git apply` makes of it is the other text", () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-diff-"));
  try {
    let seed = 7;
    const random = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % most;
    };
    const text = (lines: number): string =>
      Array.from({ length: lines }, () => `line ${random(6)}\n`).join("") + (random(3) === 0 ? "no end" : "");
    for (let round = 0; round < 60; round += 1) {
      const before = text(random(20));
      const after = text(random(20));
      const diff = unifiedDiff("/work/a", before, after);
      if (before === after) assert.equal(diff, "");
      const file = join(directory, "a");
      writeFileSync(file, before);
      if (diff !== "") {
        const patched = spawnSync("git", ["apply", "--unsafe-paths", "--whitespace=nowarn", "-p2", "-"], {
          cwd: directory,
          input: diff,
        });
        assert.equal(patched.status, 0, `${String(patched.stderr)}\n${diff}`);
      }
      assert.equal(readFileSync(file, "utf8"), after, diff);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a few changed lines are shown with three lines around them, a new file from nothing", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `${index}\n`);
  const changed = lines.with(9, "nine\n").join("");
  assert.equal(
    unifiedDiff("/work/a", lines.join(""), changed),
    "--- a/work/a\n+++ b/work/a\n@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n",
  );
  assert.equal(
    unifiedDiff("/work/a", undefined, "x\n"),
    "--- /dev/null\n+++ b/work/a\n@@ -0,0 +1,1 @@\n+x\n",
  );
  assert.equal(
    unifiedDiff("/work/a", "x\n", undefined),
    "--- a/work/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n",
  );
});

test("texts that have nothing in common are shown whole, and soon", () => {
  const of = (word: string): string =>
    Array.from({ length: 20_000 }, (_, index) => `${word}${index}\n`).join("");
  const diff = unifiedDiff("/work/a", of("a"), of("b"));
  assert.match(diff, /^--- a\/work\/a\n\+\+\+ b\/work\/a\n@@ -1,20000 \+1,20000 @@\n-a0\n/);
});
