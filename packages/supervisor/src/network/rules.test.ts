import assert from "node:assert/strict";
import { test } from "node:test";
import { addressableSlots, cellAddress, linkName } from "./addresses.ts";
import { parseCounters } from "./counters.ts";
import { buildRules, canonicalRules } from "./rules.ts";

test("each slot has one address, none of them special", () => {
  assert.equal(cellAddress(0), "100.96.1.0");
  assert.equal(cellAddress(256), "100.96.2.0");
  assert.equal(cellAddress(addressableSlots - 1), "100.96.254.255");
  for (const slot of [-1, addressableSlots, 0.5, Number.NaN])
    assert.throws(() => cellAddress(slot), RangeError);
  assert.ok(linkName(addressableSlots).length < 16, "an interface name has at most 15 bytes");
});

test("the rules pin every link to its address and refuse by default", () => {
  const rules = buildRules(3);
  for (const slot of [0, 1, 2]) assert.ok(rules.includes(`"c${slot}" . ${cellAddress(slot)}`));
  assert.ok(!rules.includes('"c3"'));
  const hooks = rules.split("\n").filter((line) => line.includes("type filter hook"));
  assert.equal(hooks.length, 4);
  assert.ok(
    hooks.every((line) => line.endsWith("policy drop;")),
    "nothing passes that no rule names",
  );
});

const listing = (packets: number, handle: number, order: readonly string[], accept: string): string =>
  JSON.stringify({
    nftables: [
      { metainfo: { version: "1.0.6" } },
      { counter: { name: "refused", handle, packets, bytes: packets * 60 } },
      { set: { name: "links", handle, elem: order } },
      {
        set: {
          name: "refused_links",
          handle,
          ...(packets > 0 && { elem: [{ elem: { val: "c1", counter: { packets, bytes: 60 } } }] }),
          stmt: [{ counter: null }],
        },
      },
      { rule: { chain: "input", handle, expr: [{ [accept]: null }] } },
    ],
  });

test("two listings are equal exactly when the rules are", () => {
  const before = canonicalRules(listing(0, 1, ["a", "b"], "drop"));
  assert.equal(
    canonicalRules(listing(7, 2, ["b", "a"], "drop")),
    before,
    "counters, handles and order do not matter",
  );
  assert.notEqual(canonicalRules(listing(0, 1, ["a", "b"], "accept")), before);
  assert.notEqual(canonicalRules(listing(0, 1, ["a"], "drop")), before, "an element that is gone matters");
});

test("counters are read with the links they belong to", () => {
  assert.deepEqual(parseCounters(listing(7, 1, [], "drop")), {
    packets: { refused: 7 },
    refusedByLink: { c1: 7 },
  });
});
