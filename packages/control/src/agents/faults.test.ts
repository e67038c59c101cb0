import assert from "node:assert/strict";
import { test } from "node:test";
import { readFault } from "./faults.ts";
import { ProtocolViolation } from "./violation.ts";

const read = (details: unknown) =>
  readFault("files.stat", Buffer.from(JSON.stringify({ code: "not_found", message: "gone", details })));

test("an agent's details are few and short, or it has broken the protocol", () => {
  assert.deepEqual(read({ errno: 2, path: "a\u001bb", link: false }).details, {
    errno: 2,
    path: "a b",
    link: false,
    agent: "gone",
  });
  assert.deepEqual(read(undefined).details, { agent: "gone" });
  const many = Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`k${index}`, 1]));
  for (const details of [
    many,
    [],
    null,
    "x",
    { a: null },
    { a: {} },
    { a: "x".repeat(1001) },
    { ["x".repeat(65)]: 1 },
  ])
    assert.throws(() => read(details), ProtocolViolation);
});
