import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Holds an outward surface to what is written down beside this file (as text, which no formatter touches). A change is a decision: look at the difference, then write the new
 * text with `HOLDFAST_WRITE_PINS=1 npm test -- pins` and commit it with a line in CHANGELOG.md.
 */
export const assertPinned = (name: string, text: string): void => {
  const path = fileURLToPath(new URL(`./${name}`, import.meta.url));
  if (process.env["HOLDFAST_WRITE_PINS"] === "1") return writeFileSync(path, text);
  assert.equal(text, readFileSync(path, "utf8"), `${name} differs from what is pinned`);
};
