import assert from "node:assert/strict";
import { test } from "node:test";
import { warmCells, warmDefault } from "./warm.ts";

const gibibyte = 1024 ** 3;

test("a small host keeps nothing started, a larger one two, a large one four; who says a number has that", () => {
  const counts = [
    [7, 8],
    [24, 2],
    [8, 4],
    [64, 4],
    [31, 16],
    [32, 8],
  ].map(([memory = 0, processors = 0]) => warmDefault(memory * gibibyte, processors));
  assert.deepEqual(counts, [0, 0, 2, 2, 2, 4]);
  assert.equal(warmCells({ warm: 0 }), 0);
  assert.equal(warmCells({ warm: 10 }), 10);
});
