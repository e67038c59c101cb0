import { before, test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import {
  announceSeed,
  crashFiles,
  playRound,
  points,
  prepareBench,
  seeded,
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

test("fifty seeded rounds of kill -9 under load, at random moments and at every named point", async (context) => {
  const random = seeded(announceSeed(context));
  const named: readonly Strike[] = [
    ...points.control.map((point): Strike => ({ kind: "point", program: "control", point })),
    ...points.supervisor.map((point): Strike => ({ kind: "point", program: "supervisor", point })),
  ];
  const killed: readonly Strike[] = Array.from({ length: Math.max(0, 50 - named.length) }, () => ({
    kind: "kill",
    // At least one program: a number from 1 to 15 is a set of them.
    programs: ((set) => programs.filter((_, bit) => (set >> bit) & 1))(1 + random(15)),
    afterOperations: 5 + random(60),
  }));
  const strikes = [...named, ...killed].map((strike) => ({ strike, order: random(1_000_000) }));
  strikes.sort((a, b) => a.order - b.order);
  for (const [index, { strike }] of strikes.entries()) await playRound(context, bench, index + 1, strike);
  context.diagnostic(summary(bench));
});
