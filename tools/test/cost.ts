/**
 * Loaded into the process of a test file before it (`--import`): leaves behind how much time on a processor that process took and those
 * that it waited for, in seconds, in the file that the runner names.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { isMainThread } from "node:worker_threads";

/** Linux tells user programs of a hundred ticks per second, on every machine. */
const ticksPerSecond = 100;

const path = process.env["HOLDFAST_TEST_COST"];
if (path !== undefined && isMainThread)
  process.on("exit", () => {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // After the name, which may hold anything: state is field 3, and 14 to 17 are what itself and its children took.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    writeFileSync(path, String(ticks / ticksPerSecond));
  });
