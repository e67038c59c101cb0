import { test } from "node:test";
import { announceSeed } from "../support/seeded.ts";
import { useBench } from "./holding/bench.ts";
import { playHoldingRounds } from "./holding/rounds.ts";

const bench = await useBench("hold");

test("twenty rounds of kill -9 during sleep, wake, snapshot, restore, fork, promote, offer, archive: states reconcile, nothing acknowledged is lost, no run is doubled or dropped, nothing is left", async (context) => {
  await playHoldingRounds(context, bench, announceSeed(context), 20);
});
