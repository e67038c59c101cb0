import assert from "node:assert/strict";
import { test } from "node:test";
import { patienceMs } from "./ready.ts";

test("a slow start is waited for, a complaint is not", () => {
  assert.equal(patienceMs("starting", true), 300_000);
  assert.equal(patienceMs("starting: waiting for the database", true), 300_000);
  assert.equal(patienceMs("not running", false), 300_000);
  for (const complaint of ["layer network: nft failed", "ended (exit status 1)", "not running", ""])
    assert.equal(patienceMs(complaint, true), 60_000);
});
