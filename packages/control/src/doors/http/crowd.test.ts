import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { refuseCrowdedJson } from "./crowd.ts";

const judge = (json: string): string => {
  try {
    refuseCrowdedJson(Buffer.from(json));
    return "taken";
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error);
  }
};

test("millions of values are refused before they are parsed; a text may hold what it likes", () => {
  assert.equal(judge("[".repeat(2_000_000)), "too_large");
  assert.equal(judge(`[${"1,".repeat(2_000_000)}1]`), "too_large");
  assert.equal(judge(`{${'"a":"b",'.repeat(60_000)}"c":1}`), "too_large");
  for (const text of [
    ",:[{".repeat(500_000),
    '"'.repeat(500_000),
    "\\".repeat(500_000),
    '\\",'.repeat(200_000),
  ])
    assert.equal(judge(JSON.stringify({ a: text, b: [text, 1] })), "taken");
  assert.equal(judge(JSON.stringify({ argv: Array.from({ length: 4096 }, () => 'a,"b') })), "taken");
});

test("what is no JSON is looked at to its end", () => {
  for (const json of ["", '"', '"\\', '"\\"', '\\"', "\\", '"a" , "', "a".repeat(100)])
    assert.equal(judge(json), "taken", json);
});

test("a text of backslashes and quotes takes no longer than any other", () => {
  const began = performance.now();
  for (const text of ["\\".repeat(4_000_000), '\\"'.repeat(2_000_000), '"'.repeat(4_000_000)])
    assert.equal(judge(`"${text}`), "taken");
  assert.ok(performance.now() - began < 3000, `${performance.now() - began} ms`);
});
