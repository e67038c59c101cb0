import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rules } from "./rules.ts";
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
