import assert from "node:assert/strict";
import { test } from "node:test";
import { placeCanary, transferWhileSwapping } from "./swap.ts";
import { useComputer } from "../support/use.ts";

const { assistant, computer } = await useComputer();
const placed = placeCanary();

test("74, 75: sixty seconds of swapped links and directories leak nothing and write nothing outside", async (context) => {
  const { tries, flipsPerSecond } = await transferWhileSwapping(assistant, computer, await placed, 60_000);
  context.diagnostic(`${tries} rounds of transfers, ${Math.round(flipsPerSecond)} exchanges a second`);
  assert.ok(flipsPerSecond > 1000, `${flipsPerSecond} exchanges a second`);
  assert.ok(tries > 50, String(tries));
});
