import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import type { ManifestEntry } from "../../domain/trees.ts";
import { digestOf, leadsOf, plainPaths } from "./paths.ts";

test("paths are made plain, and none is below another", () => {
  assert.deepEqual(plainPaths(["/work/site//src/", "/work/./site/src/a", "/work/notes", "/work/notes"]), [
    "/work/notes",
    "/work/site/src",
  ]);
  assert.deepEqual(plainPaths(["/work/ab", "/work/a"]), ["/work/a", "/work/ab"]);
});

test("what leads out of /work, is all of it, a repository or ours is refused", () => {
  for (const path of [
    "/work",
    "/work/",
    "/etc/passwd",
    "/work/../etc/passwd",
    "/work/site/../../etc",
    "/work/site/.git",
    "/work/site/.git/config",
    "/work/.holdfast-off_x",
  ])
    assert.throws(
      () => plainPaths(["/work/fine", path]),
      (error: unknown) => error instanceof HoldfastError && error.code === "invalid_input",
      path,
    );
});

test("the directories above offered paths, upper ones first", () => {
  assert.deepEqual(leadsOf(["/work/a/b/c/d", "/work/a/x"]), ["/work/a", "/work/a/b", "/work/a/b/c"]);
  assert.deepEqual(leadsOf(["/work/a"]), []);
});

test("a digest changes with every part of every entry", () => {
  const entry: ManifestEntry = {
    path: "/work/a",
    kind: "file",
    mode: 0o644,
    bytes: 1,
    digest: "00",
    target: null,
  };
  const all = [
    [entry],
    [entry, entry],
    [{ ...entry, path: "/work/b" }],
    [{ ...entry, mode: 0o755 }],
    [{ ...entry, bytes: 2 }],
    [{ ...entry, digest: "01" }],
    [{ ...entry, kind: "link" as const, digest: null, target: "b" }],
  ].map(digestOf);
  assert.equal(new Set(all).size, all.length);
  assert.equal(digestOf([{ ...entry }]), all[0]);
});
