import { test } from "node:test";
import { announceSeed } from "../support/seeded.ts";
import { useBench } from "./holding/bench.ts";
import { playHoldingRounds } from "./holding/rounds.ts";

const bench = await useBench("holdlong");

test("two hundred rounds of kill -9 during what holds work", async (context) => {
  await playHoldingRounds(context, bench, announceSeed(context), 200);
});
