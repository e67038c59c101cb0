import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackoff } from "./backoff.ts";

const still = () => 0;

test("waits of one that never serves double up to half a minute, and begin anew after it served", () => {
  const backoff = createBackoff(() => 0.5, still);
  const waits = Array.from({ length: 10 }, () => backoff.next(false));
  assert.deepEqual(waits.slice(0, 4), [250, 500, 1000, 2000]);
  assert.equal(waits.at(-1), 30_000);
  assert.equal(backoff.next(true), 0);
  assert.equal(backoff.next(false), 250);
});

test("one that served is started again at once, ten times in a row and then every 5 s", () => {
  let now = 1_000_000;
  const backoff = createBackoff(
    () => 0.5,
    () => now,
  );
  for (let count = 0; count < 10; count += 1) assert.equal(backoff.next(true), 0);
  for (let count = 0; count < 3; count += 1) {
    assert.equal(backoff.next(true), 5000);
    now += 5000;
  }
  now += 2000;
  assert.equal(backoff.next(true), 3000, "the time it ran counts");
  now += 3000 + 20_000;
  for (let count = 0; count < 4; count += 1) assert.equal(backoff.next(true), 0);
  now += 3_600_000;
  for (let count = 0; count < 10; count += 1) assert.equal(backoff.next(true), 0);
  assert.equal(backoff.next(true), 5000, "more than ten are never saved up");
});

test("jitter keeps programs that fail together apart", () => {
  assert.equal(createBackoff(() => 0, still).next(false), 188);
  assert.equal(createBackoff(() => 0.999, still).next(false), 312);
});
