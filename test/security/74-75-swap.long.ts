import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createComputer } from "../support/computer.ts";
import { type Assistant, useInstance } from "../support/instance.ts";
import { placeCanary, transferWhileSwapping } from "./swap.ts";

const opened = useInstance();
const placed = placeCanary();
let assistant: Assistant;
let computer: string;
before(async () => {
  assistant = await (await opened).assistant();
  computer = await createComputer(assistant);
});

test("74, 75: sixty seconds of swapped links and directories leak nothing and write nothing outside", async (context) => {
  const { tries, flipsPerSecond } = await transferWhileSwapping(assistant, computer, await placed, 60_000);
  context.diagnostic(`${tries} rounds of transfers, ${Math.round(flipsPerSecond)} exchanges a second`);
  assert.ok(flipsPerSecond > 1000, `${flipsPerSecond} exchanges a second`);
  assert.ok(tries > 50, String(tries));
});
