import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf, sumOf } from "./report.ts";
import type { FileResult } from "./run-file.ts";

const result = (file: string, seconds: number, failures: readonly string[] = []): FileResult => ({
  file,
  seconds,
  cpuSeconds: file === "k" ? undefined : seconds / 2,
  passed: 2,
  failed: failures.length,
  failures,
});

test("a run ends with each group's sum, its ten slowest files and what failed", () => {
  const many = Array.from("bcdefghijk", (file, index) => result(file, index + 2));
  const lines = reportOf(
    new Map([
      ["one", [result("a", 1, ["is whole"])]],
      ["two", many],
    ]),
  );
  assert.deepEqual(lines.slice(0, 2), [
    "— one: 2 passed, 1 failed, 1 files, 1 s of lanes",
    "— two: 20 passed, 0 failed, 10 files, 65 s of lanes",
  ]);
  assert.deepEqual(lines.slice(3, 5), ["    11.0       ?  k", "    10.0     5.0  j"]);
  assert.deepEqual(lines.slice(12), ["     2.0     1.0  b", "✖ a: is whole"]);
  assert.deepEqual(sumOf(many), { passed: 20, failed: 0 });
});

test("a run of few files has no table", () => {
  assert.deepEqual(reportOf(new Map([["one", [result("a", 1)]]])), [
    "— one: 2 passed, 0 failed, 1 files, 1 s of lanes",
  ]);
});
