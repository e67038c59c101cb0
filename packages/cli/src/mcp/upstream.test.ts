import assert from "node:assert/strict";
import { test } from "node:test";
import { withKey } from "./upstream.ts";

test("a call that may be sent twice always carries a key that names it", () => {
  assert.deepEqual(withKey({ a: 1, idempotency_key: "mine" }), { a: 1, idempotency_key: "mine" });
  for (const given of [
    {},
    { idempotency_key: null },
    { idempotency_key: "" },
    { idempotency_key: undefined },
  ])
    assert.match(String(withKey(given)["idempotency_key"]), /^[0-9a-f-]{36}$/);
});
