/** `npm run format`: writes every file in the house format, the agent's too. */
import { join } from "node:path";
import process from "node:process";
import { root } from "../node24.mjs";
import { run, tool } from "./run.ts";

const outcomes = [
  await run(tool("biome"), ["format", "--write", "."]),
  await run("cargo", ["fmt"], join(root, "native/agent")),
];
for (const { output } of outcomes) process.stdout.write(output);
process.exit(outcomes.every(({ ok }) => ok) ? 0 : 1);
