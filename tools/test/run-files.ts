import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { root } from "../node24.mjs";
import { fileLimitMs, type Group } from "./groups.ts";
import { type Lane, lanesOf } from "./lanes.ts";

export interface Tally {
  passed: number;
  failed: number;
}

export interface Running {
  /** Name of the instance of the run. */
  readonly instance: string;
  readonly signal: AbortSignal;
}

/** Runs the files of one group with node:test and prints as they end. A file that fails outside of its tests counts as one failure. */
export const runFiles = async (group: Group, files: readonly string[], running: Running): Promise<Tally> => {
  process.stdout.write(`\n— ${group.name}: ${files.length} files\n`);
  const started = performance.now();
  const tally: Tally = { passed: 0, failed: 0 };
  const alone = new Set((group.alone ?? []).map((file) => join(root, file)));
  const rounds = lanesOf(files, (file) => readFileSync(file, "utf8"), { ...group, alone });
  for (const lanes of rounds)
    if (!running.signal.aborted) await Promise.all(lanes.map((lane) => runLane(group, lane, running, tally)));
  process.stdout.write(
    `— ${group.name}: ${tally.passed} passed, ${tally.failed} failed, ${Math.round((performance.now() - started) / 1000)} s\n`,
  );
  return tally;
};

/** Of the events of a run, as a reporter gets them, those that are looked into. */
type RunEvent =
  | { readonly type: "test:diagnostic"; readonly data: { readonly message: string } }
  | { readonly type: "test:summary"; readonly data: { readonly file?: string; readonly duration_ms: number } }
  | { readonly type: "test:plan"; readonly data: object };

/** What node:test says of all files of a lane; here it is told of the group. */
const sums = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

const runLane = async (
  group: Group,
  lane: Lane,
  { instance, signal }: Running,
  tally: Tally,
): Promise<void> => {
  // Lanes print by turns, a whole file each.
  let text = "";
  const print = (): void => {
    process.stdout.write(text);
    text = "";
  };
  const events = run({
    files: [...lane.files],
    cwd: root,
    concurrency: lane.concurrency,
    timeout: group.long ? fileLimitMs.long : fileLimitMs.normal,
    signal,
    env: { ...process.env, ...(lane.shared ? { HOLDFAST_TEST_INSTANCE: instance } : {}) },
  });
  events.on("test:pass", (event) => {
    if (event.details.type !== "suite" && !event.skip) tally.passed += 1;
  });
  events.on("test:fail", (event) => {
    // A suite fails because of a test in it, which is counted already.
    const failure = event.details.error;
    const inherited = "failureType" in failure && failure.failureType === "subtestsFailed";
    if (inherited) return;
    tally.failed += 1;
    // Of a process that was ended from outside its tests nothing else is known.
    const { signal: killedBy, exitCode } = failure as { signal?: string | null; exitCode?: number | null };
    if (killedBy || exitCode !== undefined)
      text += `  ${event.name}: its process ended ${killedBy ? `by ${killedBy}` : `with status ${exitCode}`}\n`;
  });
  const reporter = new spec();
  reporter.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  for await (const event of events as AsyncIterable<RunEvent>) {
    if (event.type === "test:diagnostic" && sums.test(event.data.message)) continue;
    reporter.write(event);
    // What takes hours is seen while it goes on.
    if (group.long) print();
    if (event.type !== "test:summary" || event.data.file === undefined) continue;
    const seconds = (event.data.duration_ms / 1000).toFixed(1);
    if (group.concurrency > 1) text += `  ${relative(root, event.data.file)}: ${seconds} s\n`;
    print();
  }
  const ended = once(reporter, "end");
  reporter.end();
  await ended;
  print();
};
