import { test } from "node:test";
import { announceSeed, seeded } from "../support/seeded.ts";
import { playRounds, useBench } from "./rounds.ts";
import { points, type Program, strikeAt, type Strike } from "./strikes.ts";

const bench = await useBench("killlong");

const programs = ["launcher", "control", "supervisor", "postgres", "gateway"] as const;

test("seeded rounds of kill -9 under load, fifty and more: at random moments and at every named point", async (context) => {
  const random = seeded(announceSeed(context));
  const named = (["control", "supervisor", "launcher"] as const).flatMap((program: Program) =>
    points[program].map((point) => strikeAt(program, point, random)),
  );
  const killed: readonly Strike[] = Array.from({ length: 22 }, () => ({
    kind: "kill",
    // At least one program: a number from 1 to 31 is a set of them.
    programs: ((set) => programs.filter((_, bit) => (set >> bit) & 1))(1 + random(31)),
    afterOperations: 5 + random(60),
  }));
  const strikes = [...named, ...killed].map((strike) => ({ strike, order: random(1_000_000) }));
  strikes.sort((a, b) => a.order - b.order);
  await playRounds(
    bench,
    strikes.map(({ strike }) => strike),
  );
});
