import assert from "node:assert/strict";
import { test } from "node:test";
import { commandText } from "./spec.ts";

test("a long command is shortened between characters", () => {
  for (const before of [497, 498, 499, 500, 501]) {
    const text = commandText({ command: `${"x".repeat(before)}😀${"y".repeat(10)}` });
    assert.ok(text.isWellFormed(), `${before}`);
    assert.ok(text.endsWith("…") && text.length <= 501);
  }
});
