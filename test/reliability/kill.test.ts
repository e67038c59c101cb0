import { test } from "node:test";
import { announceSeed, seeded } from "../support/seeded.ts";
import { playRounds, useBench } from "./rounds.ts";
import { points, type Program, strikeAt, type Strike } from "./strikes.ts";

const bench = await useBench("kill");

test("eleven rounds of kill -9 under load: nothing acknowledged is lost, nothing happens twice, no cell dies, nothing is left", async (context) => {
  const random = seeded(announceSeed(context));
  const kill = (...programs: readonly string[]): Strike => ({
    kind: "kill",
    programs,
    afterOperations: 10 + random(30),
  });
  const at = (program: Program): Strike => {
    const all: readonly string[] = points[program];
    return strikeAt(program, all[random(all.length)] ?? "", random);
  };
  await playRounds(bench, [
    kill("control"),
    kill("supervisor"),
    kill("postgres"),
    kill("gateway"),
    kill("launcher"),
    kill("launcher", "control", "supervisor", "postgres", "gateway"),
    at("control"),
    at("supervisor"),
    at("launcher"),
    kill("control", "supervisor", "gateway"),
    kill("postgres", "control"),
  ]);
});
