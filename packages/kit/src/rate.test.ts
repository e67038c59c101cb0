import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";
import { createRateLimiter } from "./rate.ts";

test("a bucket empties, refills evenly, and takes back what did not count", () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs };
  const rate = createRateLimiter(clock, { most: 3, windowMs: 3000 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => rate.take("a").allowed),
    [true, true, true, false],
  );
  assert.equal(rate.take("a").resetMs, 1000);
  rate.give("a");
  assert.equal(rate.take("a").allowed, true);
  nowMs = 1000;
  assert.equal(rate.take("a").allowed, true);
  assert.equal(rate.take("a").allowed, false);
  assert.equal(rate.take("b").allowed, true);
});

test("a flood of subjects costs as much at its end as at its beginning, and empties nobody who is about", () => {
  const rate = createRateLimiter({ ...systemClock, monotonic: () => 0 }, { most: 600, windowMs: 60_000 });
  for (let index = 0; index < 600; index += 1) rate.take("busy");
  const flood = (from: number, count: number): number => {
    const began = performance.now();
    for (let index = 0; index < count; index += 1) {
      rate.take(`stranger ${from + index}`);
      // Empty buckets are the ones that could not be dropped as full.
      if (index % 1000 === 0) rate.take("busy");
    }
    return performance.now() - began;
  };
  const first = flood(0, 5_000);
  const last = flood(1_000_000, 20_000);
  assert.equal(rate.take("busy").allowed, false);
  assert.ok(last < 80 * first + 100, `${first} ms for 5,000, then ${last} ms for 20,000`);
});
