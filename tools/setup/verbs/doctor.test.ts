import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "./doctor.ts";

test("the last line of doctor claims no more than was proven", () => {
  assert.equal(verdict(20, 0, 0), "Everything is proven.");
  assert.equal(verdict(20, 0, 1), "Everything that is built is proven; 1 stage is open.");
  assert.equal(verdict(20, 0, 4), "Everything that is built is proven; 4 stages are open.");
  assert.equal(verdict(20, 2, 4), "2 of 20 are missing.");
});
