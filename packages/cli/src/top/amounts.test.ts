import assert from "node:assert/strict";
import { test } from "node:test";
import { ofLimit, percent, short } from "./amounts.ts";

test("amounts are short, never longer than five characters, and round as one reads them", () => {
  assert.deepEqual(
    [0, 999, 1000, 1023, 1024, 10_188, 10_240, 1_048_064, 1024 ** 2, 5 * 1024 ** 3, 80 * 1024 ** 3].map(
      short,
    ),
    ["0B", "999B", "1.0K", "1.0K", "1.0K", "9.9K", "10K", "1.0M", "1.0M", "5.0G", "80G"],
  );
  for (let power = 0; power < 50; power += 1)
    for (const delta of [-1, 0, 1])
      assert.ok(short(Math.max(0, 2 ** power + delta)).length <= 4, `2^${power}`);
  assert.equal(ofLimit(120 * 1024 ** 2, 1024 ** 3), "120M/1.0G");
  assert.equal(ofLimit(undefined, 5), "-");
  assert.deepEqual([percent(null), percent(0), percent(0.126), percent(1)], ["-", "0%", "13%", "100%"]);
});
