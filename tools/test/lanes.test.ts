import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { root } from "../node24.mjs";
import { groups } from "./groups.ts";
import { lanesOf } from "./lanes.ts";

/** Put together here, so that this file itself is not taken for one of them. */
const calls = (name: string): string => `const used = await ${name}();`;
const texts: Readonly<Record<string, string>> = {
  a: calls("useInstance"),
  b: calls("usePrivateInstance"),
  c: calls("useComputer"),
  d: calls("usePostgres"),
  e: calls("useRest"),
};
const lanes = (concurrency: number, ...alone: string[]) =>
  lanesOf(Object.keys(texts), (file) => texts[file] ?? "", { concurrency, alone: new Set(alone) });

test("files that share the instance are one at a time, others beside them, and some beside nothing", () => {
  assert.deepEqual(lanes(2, "d", "e"), [
    [
      { files: ["a", "c"], concurrency: 1, shared: true },
      { files: ["b"], concurrency: 1, shared: false },
    ],
    [{ files: ["d"], concurrency: 1, shared: false }],
    [{ files: ["e"], concurrency: 1, shared: true }],
  ]);
  assert.deepEqual(lanes(2, "a", "c", "e")[0], [{ files: ["b", "d"], concurrency: 2, shared: false }]);
  assert.deepEqual(
    lanes(1).map((round) => round.length),
    [1, 1],
    "without concurrency one lane after the other",
  );
  assert.deepEqual(
    lanesOf([], () => "", { concurrency: 2, alone: new Set() }),
    [],
  );
});

test("the files that a group runs alone are files of it", () => {
  for (const { name, files, alone = [] } of groups) {
    const there = globSync([...files], { cwd: root, exclude: ["**/node_modules/**"] });
    assert.deepEqual(
      alone.filter((file) => !there.includes(file)),
      [],
      name,
    );
  }
});
