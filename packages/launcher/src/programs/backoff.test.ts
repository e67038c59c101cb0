import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackoff } from "./backoff.ts";

test("waits double up to half a minute; after a sound run there is none, and they begin anew", () => {
  const backoff = createBackoff(() => 0.5);
  const waits = Array.from({ length: 10 }, () => backoff.next(100));
  assert.deepEqual(waits.slice(0, 4), [250, 500, 1000, 2000]);
  assert.equal(waits.at(-1), 30_000);
  assert.equal(backoff.next(60_000), 0);
  assert.equal(backoff.next(100), 250);
});

test("jitter keeps programs that fail together apart", () => {
  assert.equal(createBackoff(() => 0).next(0), 188);
  assert.equal(createBackoff(() => 0.999).next(0), 312);
});
