import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { createPassphrases } from "./passphrase.ts";

const cheap = { N: 2, r: 1, p: 1, maxmem: 1024 * 1024 };

test("a passphrase is known again by its hash, and an owner that does not exist has none", async () => {
  const { hash, verify } = createPassphrases(cheap);
  const kept = await hash("correct horse battery staple");
  assert.equal(await verify("correct horse battery staple", kept), true);
  assert.equal(await verify("correct horse battery stable", kept), false);
  assert.equal(await verify("correct horse battery staple", undefined), false);
});

test("a flood of sign-ins waits in a line that has an end, and the line goes on", async () => {
  const { verify } = createPassphrases(cheap);
  const all = await Promise.allSettled(Array.from({ length: 200 }, () => verify("x", undefined)));
  const refused = all.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  assert.equal(refused.length, 200 - 2 - 64);
  for (const reason of refused) assert.ok(reason instanceof HoldfastError && reason.code === "unavailable");
  assert.equal(await verify("x", undefined), false);
});
