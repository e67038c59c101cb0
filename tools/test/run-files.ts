import { run } from "node:test";
import { spec } from "node:test/reporters";
import { root } from "../node24.mjs";
import { fileLimitMs, type Group } from "./groups.ts";

export interface Tally {
  passed: number;
  failed: number;
}

/** Runs the files of one group with node:test and prints as it goes. A file that fails outside of its tests counts as one failure. */
export const runFiles = async (
  group: Group,
  files: readonly string[],
  signal: AbortSignal,
): Promise<Tally> => {
  process.stdout.write(`\n— ${group.name}: ${files.length} files\n`);
  const started = performance.now();
  const tally: Tally = { passed: 0, failed: 0 };
  const events = run({
    files: [...files],
    cwd: root,
    concurrency: group.concurrency,
    timeout: group.long ? fileLimitMs.long : fileLimitMs.normal,
    signal,
  });
  events.on("test:pass", (event) => {
    if (event.details.type !== "suite" && !event.skip) tally.passed += 1;
  });
  events.on("test:fail", (event) => {
    // A suite fails because of a test in it, which is counted already.
    const failure = event.details.error;
    const inherited = "failureType" in failure && failure.failureType === "subtestsFailed";
    if (!inherited) tally.failed += 1;
  });
  for await (const text of events.compose<NodeJS.ReadableStream>(spec())) process.stdout.write(text);
  process.stdout.write(
    `— ${group.name}: ${tally.passed} passed, ${tally.failed} failed, ${Math.round((performance.now() - started) / 1000)} s\n`,
  );
  return tally;
};
