import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./network.ts";

test("an address stands for itself, one of IPv6 for its /64", () => {
  const cases: Readonly<Record<string, string>> = {
    "127.0.0.1": "127.0.0.1",
    "::ffff:10.0.0.7": "10.0.0.7",
    "::1": "0:0:0:0::/64",
    "2001:db8:0:1::1": "2001:db8:0:1::/64",
    "2001:0db8:0000:0001:ffff:ffff:ffff:ffff": "2001:db8:0:1::/64",
    "2001:db8::5:6:7:8": "2001:db8:0:0::/64",
    "2001:db8::": "2001:db8:0:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
    unknown: "unknown",
  };
  for (const [address, network] of Object.entries(cases)) assert.equal(networkOf(address), network, address);
});
