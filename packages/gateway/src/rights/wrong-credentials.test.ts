import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { createWrongCredentials } from "./wrong-credentials.ts";

test("whom a TLS proxy tells as IPv4 in IPv6 is a network of its own, and the same one as IPv4", () => {
  const wrong = createWrongCredentials({ ...systemClock, monotonic: () => 0 });
  for (let tries = 0; tries < limits.unknownCredentialsPerWindow; tries += 1)
    assert.ok(wrong.mayTry("::ffff:203.0.113.9"));
  assert.equal(wrong.mayTry("203.0.113.9"), false);
  assert.equal(wrong.mayTry("::ffff:203.0.113.10"), true);
});

test("of IPv6 a /64 is one network, however its addresses are written", () => {
  const wrong = createWrongCredentials({ ...systemClock, monotonic: () => 0 });
  for (let tries = 0; tries < limits.unknownCredentialsPerWindow; tries += 1)
    assert.ok(wrong.mayTry(`2001:db8:0:1::${tries.toString(16)}`));
  assert.equal(wrong.mayTry("2001:0DB8:0000:0001:1:2:3:4"), false);
  assert.equal(wrong.mayTry("2001:db8:0:2::1"), true);
});
