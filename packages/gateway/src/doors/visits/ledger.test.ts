import assert from "node:assert/strict";
import { test } from "node:test";
import { createLedger, type Seat } from "./ledger.ts";

/** Someone who takes a seat and notes when it is put out. */
const sit = (ledger: ReturnType<typeof createLedger>, address: string, serves = false) => {
  const seat = ledger.seat(address, true);
  if (!seat) return undefined;
  const guest = {
    out: false,
    seat: seat as Seat,
    evict: () => {
      guest.out = true;
      guest.seat.leave();
    },
  };
  seat.waits(guest);
  if (serves) seat.serves(guest);
  return guest;
};

test("when full, who has waited longest makes room, and nobody who is served", () => {
  const ledger = createLedger(3, 10);
  const served = sit(ledger, "a", true);
  const first = sit(ledger, "b");
  const second = sit(ledger, "c");
  const third = sit(ledger, "d");
  assert.deepEqual([served?.out, first?.out, second?.out, third?.out], [false, true, false, false]);
  assert.equal(ledger.taken, 3);
  for (const guest of [second, third]) if (guest) guest.seat.serves(guest);
  assert.equal(sit(ledger, "e"), undefined);
  third?.seat.leave();
  third?.seat.leave();
  assert.equal(ledger.taken, 2);
  assert.ok(sit(ledger, "e"));
});

test("one address puts out its own, and takes no room of others", () => {
  const ledger = createLedger(100, 2);
  const other = sit(ledger, "other");
  const [first, second] = [sit(ledger, "greedy"), sit(ledger, "greedy")];
  assert.ok(sit(ledger, "greedy"));
  assert.deepEqual([first?.out, second?.out, other?.out], [true, false, false]);
  if (second) second.seat.serves(second);
  const third = sit(ledger, "greedy", true);
  assert.ok(third);
  assert.equal(sit(ledger, "greedy"), undefined);
  assert.equal(other?.out, false);
});
