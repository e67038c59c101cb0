import assert from "node:assert/strict";
import { test } from "node:test";
import { inputDigest } from "./digest.ts";

const digest = (input: Readonly<Record<string, unknown>>): string =>
  inputDigest("process.exec", input).toString("hex");

test("equal inputs have equal digests, and others do not", () => {
  assert.equal(digest({ a: 1, b: { c: 2, d: 3 } }), digest({ b: { d: 3, c: 2 }, a: 1 }));
  assert.notEqual(digest({ a: [1, 2] }), digest({ a: [2, 1] }));
  assert.notEqual(digest({ environment: { code: "1" } }), digest({ environment: { code: "2" } }));
});

test("what a caller types from memory is not in them", () => {
  assert.equal(digest({ name: "x", passphrase: "one" }), digest({ name: "x", passphrase: "two" }));
  assert.equal(digest({ code: "one" }), digest({ code: "two" }));
});
