import assert from "node:assert/strict";
import { test } from "node:test";
import { clip } from "./words.ts";

test("a text becomes one line, and is cut where it is too long", () => {
  assert.equal(clip("a  \n\n  b", 20), "a ⏎ b");
  assert.equal(clip("x".repeat(20), 20), "x".repeat(20));
  assert.equal(clip("x".repeat(21), 20), `${"x".repeat(19)}…`);
  assert.equal(clip(`a${" ".repeat(100)}\nb`, 20), `a${" ".repeat(18)}…`);
  assert.equal(clip(`a${"\n".repeat(100)}b`, 20), "a ⏎ …");
});

test("a command of a megabyte of spaces is shown at once", () => {
  const began = performance.now();
  assert.equal(clip(" ".repeat(1024 * 1024), 200).length, 200);
  // It took many minutes.
  assert.ok(performance.now() - began < 2000);
});
