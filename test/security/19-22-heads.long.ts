import { test } from "node:test";
import { cutBodies, cutHeads, takenHeads } from "../support/gateway/heads.ts";

/** What the unit tests of the head parser try by chance, for minutes. A failure names the seed that brings it back. */
const runs = 400_000;

test("20: heads by chance: how they are cut changes nothing", () => cutHeads(runs / 4));
test("20: heads by chance: what is taken keeps its promises", () => takenHeads(runs));
test("20: chunked bodies by chance", () => cutBodies(runs));
