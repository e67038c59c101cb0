import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUpAfterwards, holdfast, killedAfter, testDownAfterKill } from "../support/interrupted-up.ts";

cleanUpAfterwards();

// Every step with several delays: interrupted-up.long.ts.
for (const step of ["agent", "instance", "directories", "program tree", "pool"]) testDownAfterKill(step, 0);
testDownAfterKill("program tree", 150);
testDownAfterKill("pool", 150);

test("a set-up that was killed half-way is completed by the next one", async () => {
  for (const step of ["program tree", "pool", "base image"]) assert.ok(await killedAfter(step, 20));
  await holdfast("up", "--bare");
  const { ready } = JSON.parse(await holdfast("status", "--json")) as { readonly ready: boolean };
  assert.ok(ready);
});
