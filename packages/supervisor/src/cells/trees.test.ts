import assert from "node:assert/strict";
import { test } from "node:test";
import type { CellParts } from "./parts.ts";
import { planTrees, treeMounts, treePoints, type TreeWish } from "./trees.ts";

const parts = {
  volumes: {
    tree: (source: TreeWish["source"]) =>
      "archive_of" in source
        ? { kind: "archive", volume: "/pool/archives/one", readOnly: false }
        : { kind: "files", volume: "/pool/computers/one", image: "f".repeat(64) },
  },
  images: { find: (digest: string) => Promise.resolve({ digest, path: `/pool/images/${digest}` }) },
} as unknown as Pick<CellParts, "volumes" | "images">;

const files: TreeWish = { name: "a", source: { volume_of: "cmp_00000000000000000001" } };
const archive: TreeWish = { name: "archive", source: { archive_of: "cmp_00000000000000000001" } };

test("a tree is shown at its name, what is to be read read-only, and everything made for it is taken away again", async () => {
  const mounts = treeMounts(await planTrees(parts, [files, archive]));
  assert.deepEqual(
    mounts.map(({ destination, readOnly }) => [destination, readOnly]),
    [
      ["/trees/a/work", true],
      ["/trees/a/changes", true],
      ["/trees/a/root", true],
      ["/trees/archive", false],
    ],
  );
  for (const { source } of mounts) assert.ok(treePoints.includes(source), source);
  assert.equal(new Set(treePoints).size, 9);
});

test("a name means one kind of tree, once", async () => {
  for (const wishes of [
    [files, files],
    [{ ...files, name: "archive" as const }],
    [{ ...archive, name: "b" as const }],
  ])
    await assert.rejects(planTrees(parts, wishes), { code: "invalid_input" });
});
