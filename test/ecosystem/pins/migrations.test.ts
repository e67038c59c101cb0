import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { assertPinned } from "./pin.ts";

const directory = new URL("../../../packages/control/src/store/migrations/", import.meta.url);

/** A database refuses to go on when a migration that it has applied reads otherwise now, a comment included: write a new one instead. */
test("migrations that were applied somewhere keep every byte", () => {
  const lines = readdirSync(directory)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => `${name} ${createHash("sha256").update(readFileSync(new URL(name, directory))).digest("hex")}`);
  assertPinned("migrations.txt", `${lines.join("\n")}\n`);
});
