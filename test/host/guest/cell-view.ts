/**
 * Runs in the guest: what a cell sees and may do there, against the stored copy. Prints the difference and ends with 1 when there is one.
 *
 * usage: cell-view.ts <address> <key file>
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createClient } from "@holdfast/sdk";
import { compareView } from "../../support/cell-view.ts";

const [address = "", keyFile = ""] = process.argv.slice(2);
const client = createClient({ baseUrl: address, token: (await readFile(keyFile, "utf8")).trim() });
const { id } = await client.computers.create({ name: "view", wait_ms: 50_000 });
const { stdout } = await client.processes.exec({
  computer: id,
  argv: ["/.holdfast/agent", "view"],
  wait_ms: 50_000,
});
await client.computers.destroy({ computer: id });
const { seen, stored, layout } = await compareView(stdout);
assert.deepEqual(seen, stored);
process.stdout.write(`equal to the stored copy for ${layout}\n`);
