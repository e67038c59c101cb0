import assert from "node:assert/strict";
import { test } from "node:test";
import { allOver } from "./all-over.ts";

test("a failure is told only when nothing of the rest is under way", async () => {
  let under = true;
  const slow = new Promise((resolve) => setImmediate(resolve)).then(() => {
    under = false;
  });
  await assert.rejects(
    allOver([slow, Promise.reject(new Error("first")), Promise.reject(new Error("second"))]),
    {
      message: "first",
    },
  );
  assert.equal(under, false);
  assert.deepEqual(await allOver([Promise.resolve(1), Promise.resolve("two")]), [1, "two"]);
});
