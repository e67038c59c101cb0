import assert from "node:assert/strict";
import { test } from "node:test";
import { Recent } from "./recent.ts";

test("it keeps the newest and never more than its limit", () => {
  const recent = new Recent<number, string>(3);
  for (let key = 0; key < 5; key += 1) recent.set(key, `v${key}`);
  assert.equal(recent.size, 3);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((key) => recent.get(key)),
    [undefined, undefined, "v2", "v3", "v4"],
  );
  recent.set(2, "again");
  recent.set(5, "v5");
  assert.equal(recent.get(3), undefined);
  assert.equal(recent.get(2), "again");
  recent.delete(2);
  recent.clear();
  assert.equal(recent.size, 0);
});
