/**
 * Makes the digest of the last whole week and keeps it under data/digests. The schedule `weekly` runs it; by hand: `node digest.mjs`. Made
 * again it replaces the week's own, so running it twice is fine.
 */
import { join } from "node:path";
import process from "node:process";
import { sentences } from "./lib/words.mjs";
import { digestOf } from "./lib/digest.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { readSource } from "./lib/source.mjs";
import { settings } from "./settings.mjs";

try {
  const { rows, isSample } = readSource(import.meta.dirname, settings, Date.now());
  const digest = { ...digestOf(rows, settings), isSample, madeAt: new Date().toISOString() };
  new Shelf(join(import.meta.dirname, "data/digests"), settings.keep).put(digest.id, digest);
  console.log(`${digest.id} (${digest.from} to ${digest.to})${isSample ? ", from sample numbers" : ""}`);
  for (const sentence of sentences(digest)) console.log(sentence);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
