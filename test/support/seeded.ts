import { spawnSync } from "node:child_process";
import process from "node:process";
import type { TestContext } from "node:test";

/** Numbers in [0, bound) that the seed alone decides (mulberry32). */
export const seeded = (seed: number): ((bound: number) => number) => {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
};

/** Seed and commit, for whoever wants the same run again: `HOLDFAST_TEST_SEED=<seed>`. */
export const announceSeed = (context: Pick<TestContext, "diagnostic">): number => {
  const seed = Number(process.env["HOLDFAST_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  const commit = spawnSync("git", ["rev-parse", "--short=12", "HEAD"], { encoding: "utf8" }).stdout.trim();
  context.diagnostic(`commit ${commit || "unknown"}, seed ${seed}`);
  return seed;
};
