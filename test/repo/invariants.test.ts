import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rules, runsInCells } from "./rules.ts";
import { read, tracked } from "./sources.ts";
import { Sources } from "./uses.ts";

const canary = "tools/check/canary/seeded-invariants.ts";
const sources = new Sources();
after(() => sources.close());

const code = tracked(".ts").filter((file) => file.startsWith("packages/") && !file.endsWith(".test.ts"));

for (const rule of rules) {
  test(`${rule.name} holds, and its canary is seen`, () => {
    // First that the rule can fail: a rule that misses one of the seeded lines proves nothing about the others.
    const seeded = read(canary)
      .split("\n")
      .flatMap((line, index) =>
        (/\/\/ ((?:no-[a-z-]+ ?)+)$/.exec(line)?.[1] ?? "").split(" ").includes(rule.name) ? [index + 1] : [],
      );
    assert.ok(seeded.length > 0, `${canary} holds no line that breaks ${rule.name}`);
    assert.deepEqual(unique(rule.finds(canary, sources)), seeded);
    const judged = code.filter(rule.holds);
    assert.ok(judged.length > 0, `${rule.name} holds nowhere`);
    const broken = judged.flatMap((file) =>
      unique(rule.finds(file, sources)).map((line) => `${file}:${line}`),
    );
    assert.deepEqual(broken, []);
  });
}

test("what runs in cells is loaded by no program, and brings all it needs", () => {
  const inCells = code.filter(runsInCells);
  assert.ok(inCells.length > 0);
  const loads = (text: string): readonly string[] =>
    [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)"|import\("([^"]+)"\)/gm)].map(
      ([, from, later]) => from ?? later ?? "",
    );
  const isOfTool = (specifier: string): boolean => specifier.includes("/tool/");
  assert.ok(loads('import { diff } from "./tool/diff.ts";').some(isOfTool));
  assert.ok(!loads('import type { Request } from "./tool/request.ts";').some(isOfTool));
  const loaders = code.filter((file) => !runsInCells(file) && file.startsWith("packages/control/"));
  assert.deepEqual(
    loaders.filter((file) => loads(read(file)).some(isOfTool)),
    [],
  );
  const foreign = inCells.flatMap((file) =>
    loads(read(file)).filter((specifier) => !/^(?:node:|\.\/[\w-]+\.ts$)/.test(specifier)),
  );
  assert.deepEqual(foreign, []);
});

const unique = (lines: readonly number[]): number[] =>
  [...new Set(lines)].toSorted((one, other) => one - other);

test("files stay readable at one sitting", () => {
  // A file over the limit stands here with its reason.
  const allowed: readonly string[] = [];
  const tooLong = ([file, text]: readonly [string, string]): boolean =>
    text.split("\n").length > 400 && !allowed.includes(file);
  assert.ok(tooLong(["canary.ts", "\n".repeat(400)]));
  const long = tracked(".ts", ".rs", ".mjs").map((file) => [file, read(file)] as const);
  assert.deepEqual(
    long.filter(tooLong).map(([file]) => file),
    [],
  );
});
