import assert from "node:assert/strict";
import { test } from "node:test";
import { createProcessorLoad } from "./processor.ts";

test("how busy the processors were is told since the last question, and nothing where no time has passed", () => {
  const ticks = [
    { idle: 100, all: 200 },
    { idle: 150, all: 300 },
    { idle: 150, all: 400 },
    { idle: 150, all: 400 },
  ];
  const load = createProcessorLoad(() => ticks.shift() ?? { idle: 0, all: 0 });
  assert.deepEqual([load(), load(), load()], [0.5, 1, 0]);
});
