#!/usr/bin/env node
// The entry of everything: makes sure that the packages and the pinned Node are there, then runs the verb with them. Plain JavaScript
// without dependencies, because it runs before anything has been installed, on any Node from 18 on.
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ensurePinnedNode, root } from "../tools/node24.mjs";

/** Verbs about the host itself; everything else speaks to the API. */
const hostVerbs = ["up", "down", "status", "doctor", "install", "run"];

if (Number(process.versions.node.split(".")[0]) < 18) {
  process.stderr.write(`Holdfast needs Node 18 or newer to start; this is ${process.version}.\n`);
  process.exit(1);
}
try {
  await ensurePinnedNode([...process.argv.slice(1)]);
  const verb = process.argv[2];
  const cli = join(root, "packages/cli/src/main.ts");
  await import(hostVerbs.includes(verb) || !existsSync(cli) ? "../tools/setup/main.ts" : "../packages/cli/src/main.ts");
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
