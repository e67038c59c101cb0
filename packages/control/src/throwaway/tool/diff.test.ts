import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { temporaryDirectory } from "../../../../../test/support/temporary.ts";
import {
  copy,
  makeImage,
  makeTree,
  must,
  runTool,
  type TestTree,
  whiteout,
} from "../../../../../test/support/trees.ts";
import type { DiffAnswer, DiffRequest } from "./request.ts";

const isRoot = process.getuid?.() === 0;

describe("comparing two trees", () => {
  const scratch = temporaryDirectory("diff");
  const image = makeImage(join(scratch.path, "image"));
  after(() => scratch.remove());

  /** Two trees that were one: `change` is what happened after the first. */
  const pair = (
    name: string,
    before: (tree: TestTree) => void,
    change: (tree: TestTree) => void,
    replaced: readonly string[] = [],
  ): { a: string; b: string } => {
    const a = makeTree(join(scratch.path, `${name}-a`), image);
    before(a);
    a.merge();
    rmSync(join(scratch.path, `${name}-b`), { recursive: true, force: true });
    copy(a.path, join(scratch.path, `${name}-b`));
    const b = makeTree(join(scratch.path, `${name}-b`), image);
    change(b);
    b.merge(replaced);
    return { a: a.path, b: b.path };
  };
  const ask = async (trees: { a: string; b: string }, fields: Partial<DiffRequest> = {}) => {
    const said = await runTool(
      { kind: "diff", ...trees, path: null, after: null, limit: 500, most: 100_000, ...fields },
      scratch.path,
    );
    assert.equal(said.code, 0, said.stderr);
    return said.answer as { done: DiffAnswer; refused: { code: string } };
  };
  const brief = ({ done }: { done: DiffAnswer }): string[] =>
    done.differences.map(({ path, change, kind }) => `${change} ${kind} ${path}`);

  it("tells what was added, changed and removed, in files and in what they are", async () => {
    const trees = pair(
      "all",
      ({ work, changes }) => {
        for (const name of ["same", "touched", "grown", "rewritten", "gone", "mode"])
          writeFileSync(join(work, name), `${name}\n`);
        symlinkSync("same", join(work, "link"));
        mkdirSync(join(work, "old/deep"), { recursive: true });
        writeFileSync(join(work, "old/deep/f"), "f");
        mkdirSync(join(work, "kind"));
        mkdirSync(join(changes, "etc"));
        writeFileSync(join(changes, "etc/mine"), "mine\n");
      },
      ({ work, changes }) => {
        utimesSync(join(work, "touched"), 1, 1);
        appendFileSync(join(work, "grown"), "more");
        writeFileSync(join(work, "rewritten"), "REWRITTEN\n");
        rmSync(join(work, "gone"));
        chmodSync(join(work, "mode"), 0o600);
        rmSync(join(work, "link"));
        symlinkSync("touched", join(work, "link"));
        rmSync(join(work, "old"), { recursive: true });
        mkdirSync(join(work, "new"));
        writeFileSync(join(work, "new/f"), "f");
        rmSync(join(work, "kind"), { recursive: true });
        writeFileSync(join(work, "kind"), "a file now");
        writeFileSync(join(changes, "etc/passwd"), "changed\n");
        rmSync(join(changes, "etc/mine"));
        if (isRoot) whiteout(join(changes, "etc/old"));
      },
    );
    const { done } = await ask(trees);
    assert.deepEqual(brief({ done }), [
      "removed file /etc/mine",
      ...(isRoot ? ["removed file /etc/old"] : []),
      "changed file /etc/passwd",
      "removed file /work/gone",
      "changed file /work/grown",
      "changed file /work/kind",
      "changed link /work/link",
      "changed file /work/mode",
      "added directory /work/new",
      "added file /work/new/f",
      "removed directory /work/old",
      "removed directory /work/old/deep",
      "removed file /work/old/deep/f",
      "changed file /work/rewritten",
    ]);
    const grown = done.differences.find(({ path }) => path === "/work/grown");
    assert.deepEqual([grown?.size_before, grown?.size_after], [6, 10]);
    assert.deepEqual([done.added, done.truncated, done.next], [2, false, null]);
    assert.deepEqual(brief(await ask(trees, { path: "/work/old" })), [
      "removed directory /work/old",
      "removed directory /work/old/deep",
      "removed file /work/old/deep/f",
    ]);
    assert.deepEqual(brief(await ask(trees, { path: "/etc/passwd" })), ["changed file /etc/passwd"]);
    assert.equal((await ask(trees, { path: "/work/nowhere" })).refused.code, "file_not_found");
    assert.equal((await ask(trees, { path: "/work/link/x" })).refused.code, "file_not_found");
  });

  it("sees through a directory of the image that was replaced", {
    skip: !isRoot && "whiteouts need root",
  }, async () => {
    const trees = pair(
      "replaced",
      ({ changes }) => {
        mkdirSync(join(changes, "usr/lib"), { recursive: true });
        writeFileSync(join(changes, "usr/lib/own"), "own");
      },
      ({ changes }) => {
        mkdirSync(join(changes, "usr/lib/x"));
        writeFileSync(join(changes, "usr/lib/x/1"), "usr/lib/x/1 of the image\n");
        mkdirSync(join(changes, "opt"));
        whiteout(join(changes, "opt/gone"));
      },
      ["usr/lib/x"],
    );
    assert.deepEqual(brief(await ask(trees)), [
      "removed directory /opt/gone",
      "removed directory /opt/gone/deep",
      "removed file /opt/gone/deep/f",
      "removed file /usr/lib/x/2",
    ]);
  });

  it("gives pages that fit together, and counts no further than it is told", async () => {
    const names = Array.from({ length: 57 }, (_, index) => `f${index}`);
    const trees = pair(
      "pages",
      () => {},
      ({ work }) => {
        for (const directory of ["a", "a.b", "a b"]) {
          mkdirSync(join(work, directory));
          for (const name of names) writeFileSync(join(work, directory, name), "");
        }
      },
    );
    const whole = brief(await ask(trees));
    assert.equal(whole.length, 3 * 58);
    const paged: string[] = [];
    for (let after: string | null = null; ; ) {
      const { done }: { done: DiffAnswer } = await ask(trees, { limit: 13, after });
      assert.ok(done.differences.length <= 13);
      assert.equal(done.added, 3 * 58);
      paged.push(...brief({ done }));
      if (done.next === null) break;
      after = done.next;
    }
    assert.deepEqual(paged, whole);
    const { done } = await ask(trees, { most: 20 });
    assert.deepEqual([done.added, done.truncated, done.differences.length], [20, true, 20]);
  });

  it("follows no link, opens no pipe, and shows names that are no text", async () => {
    const trees = pair(
      "hostile",
      ({ work }) => {
        symlinkSync("/", join(work, "root"));
        must("mkfifo", [join(work, "pipe")]);
        mkdirSync(join(work, "swapped"));
      },
      ({ work }) => {
        symlinkSync(".", join(work, "self"));
        must("mkfifo", [join(work, "another")]);
        writeFileSync(Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0xff, 0x0a, 0x41])]), "");
        rmSync(join(work, "swapped"), { recursive: true });
        symlinkSync("/etc", join(work, "swapped"));
      },
    );
    assert.deepEqual(brief(await ask(trees)), [
      "added other /work/another",
      "added link /work/self",
      "changed link /work/swapped",
      "added file /work/\ufffd\nA",
    ]);
  });

  it("walks a huge directory, a deep one, and terabytes of nothing", async () => {
    const count = 50_000;
    const trees = pair(
      "huge",
      ({ work }) => {
        writeFileSync(join(work, "hole"), "");
        truncateSync(join(work, "hole"), 4 * 1024 ** 4);
      },
      ({ work }) => {
        mkdirSync(join(work, "many"));
        for (let index = 0; index < count; index += 1) writeFileSync(join(work, "many", `f${index}`), "");
        let deep = join(work, "deep");
        for (let level = 0; level < 900; level += 1) deep = join(deep, "d");
        mkdirSync(deep, { recursive: true });
      },
    );
    const { done } = await ask(trees, { limit: 1 });
    // Without the times that a copy changes, the hole is the same; it is too large to be read, so it may count as changed.
    assert.ok(done.added === count + 1 + 901, String(done.added));
  });

  it("refuses paths that no system call takes", async () => {
    const trees = pair(
      "long",
      () => {},
      ({ work }) => {
        must("python3", ["-c", longPath, work]);
      },
    );
    const { refused } = await ask(trees);
    assert.equal(refused.code, "limit_reached");
  });
});

/** A directory too deep for any path, as a computer may make it step by step. */
const longPath = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
`;
