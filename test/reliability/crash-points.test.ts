import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../tools/node24.mjs";
import { points, pointsElsewhere } from "./strikes.ts";

const namesIn = (program: string): readonly string[] =>
  globSync(`packages/${program}/src/**/*.ts`, { cwd: root, exclude: ["**/*.test.ts"] }).flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\bcrashPoint\(\s*"([^"]+)"/gi)].map(
      ([, name = ""]) => name,
    ),
  );

test("every crash point of the programs is struck at, by the kill rounds or by the test that is named for it", () => {
  const struck = new Set<string>([...Object.values(points).flat(), ...Object.keys(pointsElsewhere)]);
  const there = new Set(["control", "supervisor", "launcher"].flatMap(namesIn));
  assert.deepEqual([...there].filter((name) => !struck.has(name)).sort(), [], "never struck at");
  assert.deepEqual([...struck].filter((name) => !there.has(name)).sort(), [], "struck at and not there");
});

test("the files that are named for a point speak of it", () => {
  for (const [name, file] of Object.entries(pointsElsewhere)) {
    // This one finds the points of a computer's life by listing them.
    if (file === "supervisor.test.ts" && name.startsWith("volume.resize:")) continue;
    const text = readFileSync(join(root, "test/reliability", file), "utf8");
    assert.ok(text.includes(name), `${name} in ${file}`);
  }
});
