#!/usr/bin/env node
// The entry of everything: makes sure that the packages and the pinned Node are there, then runs the verb with them. Plain JavaScript
// without dependencies, because it runs before anything has been installed, on any Node from 18 on.
import process from "node:process";
import { ensurePinnedNode } from "../tools/node24.mjs";

/** Verbs about the host itself; everything else, also no verb at all, is the CLI's. */
const hostVerbs = ["up", "down", "status", "doctor", "install", "run"];

const [verb, noun] = process.argv.slice(2);
const isHostVerb = hostVerbs.includes(verb) || (verb === "owner" && noun === "login");

if (Number(process.versions.node.split(".")[0]) < 18) {
  process.stderr.write(`Holdfast needs Node 18 or newer to start; this is ${process.version}.\n`);
  process.exit(1);
}
try {
  await ensurePinnedNode();
  if (isHostVerb) await import("../tools/setup/main.ts");
  else {
    const { main } = await import("../packages/cli/src/main.ts");
    process.exitCode = await main(process.argv.slice(2));
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
