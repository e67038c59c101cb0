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

const { files, environment } = crashFiles("kill");
const opened = usePrivateInstance("kill", environment);
let bench: Bench;
before(async () => {
  bench = await prepareBench(await opened, files);
});

test("ten rounds of kill -9 under load: nothing acknowledged is lost, nothing happens twice, no cell dies, nothing is left", async (context) => {
  const random = seeded(announceSeed(context));
  const kill = (...programs: readonly string[]): Strike => ({
    kind: "kill",
    programs,
    afterOperations: 10 + random(30),
  });
  const at = (program: keyof typeof points): Strike => {
    const all: readonly string[] = points[program];
    return strikeAt(program, all[random(all.length)] ?? "", random);
  };
  const strikes = [
    kill("control"),
    kill("supervisor"),
    kill("postgres"),
    kill("launcher"),
    kill("launcher", "control", "supervisor", "postgres"),
    at("control"),
    at("supervisor"),
    at("launcher"),
    kill("control", "supervisor"),
    kill("postgres", "control"),
  ];
  for (const [index, strike] of strikes.entries()) await playRound(context, bench, index + 1, strike);
  context.diagnostic(summary(bench));
});
