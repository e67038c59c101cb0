import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { asHoldfastError } from "./failures.ts";

test("the reason of a computer, which assistants read, says nothing of what went wrong inside", () => {
  const cause = new Error("connect ENOENT /var/lib/somewhere/control.sock");
  const told = asHoldfastError(cause);
  assert.deepEqual([told.code, told.cause], ["internal", cause]);
  assert.doesNotMatch(told.message, /\//);
  const ours = new HoldfastError("host_full", "no room");
  assert.equal(asHoldfastError(ours), ours);
});
