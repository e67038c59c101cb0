import assert from "node:assert/strict";
import { test } from "node:test";
import { timestamp, timestampOrNull } from "./timestamp.ts";

test("whatever time a cell tells, it is one that can be said", () => {
  assert.equal(timestamp(0), "1970-01-01T00:00:00.000Z");
  assert.equal(timestamp(-1), "1970-01-01T00:00:00.000Z");
  assert.equal(timestamp(1.9), "1970-01-01T00:00:00.001Z");
  for (const ms of [253_402_300_799_999, 253_402_300_800_000, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])
    assert.equal(timestampOrNull(ms), "9999-12-31T23:59:59.999Z");
});
