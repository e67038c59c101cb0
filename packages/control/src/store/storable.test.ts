import assert from "node:assert/strict";
import { test } from "node:test";
import { storable, storableJson } from "./storable.ts";

const half = "\ud83d";

test("what Postgres cannot hold is kept as U+FFFD, and nothing else changes", () => {
  const given = {
    a: `x\0y${half}z`,
    [`k${half}${half}`]: ["\u0001", "😀", "\\ud83d", `\\${half}`, "\\u0000"],
  };
  assert.deepEqual(JSON.parse(storableJson(given)), {
    a: "x\ufffdy\ufffdz",
    "k\ufffd\ufffd": ["\u0001", "😀", "\\ud83d", "\\\ufffd", "\\u0000"],
  });
});

test("parameters are texts, lists of them, objects for a jsonb; all else passes", () => {
  assert.equal(storable("a\0"), "a\ufffd");
  assert.deepEqual(storable(["\0", null, 1]), ["\ufffd", null, 1]);
  assert.equal(storable({ a: half }), '{"a":"\ufffd"}');
  const bytes = Buffer.from([0]);
  assert.equal(storable(bytes), bytes);
  assert.equal(storable(null), null);
});
