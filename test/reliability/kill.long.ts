import assert from "node:assert/strict";
import { before, test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import {
  announceSeed,
  crashFiles,
  playRound,
  points,
  prepareBench,
  seeded,
  strikeAt,
  summary,
  type Bench,
  type Strike,
} from "./rounds.ts";

const { files, environment } = crashFiles("killlong");
const opened = usePrivateInstance("killlong", environment);
let bench: Bench;
before(async () => {
  bench = await prepareBench(await opened, files);
});

const programs = ["launcher", "control", "supervisor", "postgres"] as const;

/** A point that the load happens not to come by in its round is no strike; with fewer than this the run shows too little. */
const leastStrikes = 50;

test("seeded rounds of kill -9 under load, fifty and more: at random moments and at every named point", async (context) => {
  const random = seeded(announceSeed(context));
  const named: readonly Strike[] = [
    ...points.control.map((point) => strikeAt("control", point, random)),
    ...points.supervisor.map((point) => strikeAt("supervisor", point, random)),
    ...points.launcher.map((point) => strikeAt("launcher", point, random)),
  ];
  const killed: readonly Strike[] = Array.from({ length: 22 }, () => ({
    kind: "kill",
    // At least one program: a number from 1 to 15 is a set of them.
    programs: ((set) => programs.filter((_, bit) => (set >> bit) & 1))(1 + random(15)),
    afterOperations: 5 + random(60),
  }));
  const strikes = [...named, ...killed].map((strike) => ({ strike, order: random(1_000_000) }));
  strikes.sort((a, b) => a.order - b.order);
  let fell = 0;
  for (const [index, { strike }] of strikes.entries())
    if (await playRound(context, bench, index + 1, strike)) fell += 1;
  context.diagnostic(summary(bench));
  assert.ok(fell >= leastStrikes, `${fell} of ${strikes.length} strikes fell, fewer than ${leastStrikes}`);
});
