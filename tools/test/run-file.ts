import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import process from "node:process";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../node24.mjs";

export interface Tally {
  passed: number;
  failed: number;
}

/** How a file went. */
export interface FileResult extends Tally {
  /** From the root of the repository. */
  readonly file: string;
  readonly seconds: number;
  /** Of its own process and those that it waited for; undefined when it ended before it could say. */
  readonly cpuSeconds: number | undefined;
  /** Names of what failed. */
  readonly failures: readonly string[];
}

export interface Running {
  /** The instance that the file shares with others, if it does. */
  readonly instance: string | undefined;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** A directory for what a file leaves behind for its runner. */
  readonly scratch: string;
  /** What takes hours is seen while it goes on; files side by side print by turns, each the whole of it. */
  readonly live: boolean;
}

/** What a file that was told to end needs at most to take its instance down, on a slow host. */
const takingAwayMs = 60_000;

/** Of the events of a run, as a reporter gets them, those that are looked into. */
type RunEvent =
  | { readonly type: "test:diagnostic"; readonly data: { readonly message: string } }
  | { readonly type: "test:summary" | "test:plan"; readonly data: object };

/** What node:test says of a whole file; here it is told of the group. */
const sums = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

/** Runs one file with node:test and prints what it says. One that fails outside of its tests counts as one failure. */
export const runFile = async (path: string, running: Running): Promise<FileResult> => {
  const file = relative(root, path);
  const cost = join(running.scratch, file.replaceAll("/", "+"));
  const started = performance.now();
  const events = run({
    files: [path],
    cwd: root,
    concurrency: 1,
    timeout: running.limitMs,
    signal: running.signal,
    execArgv: ["--import", join(root, "tools/test/cost.ts")],
    env: {
      ...process.env,
      HOLDFAST_TEST_COST: cost,
      ...(running.instance === undefined ? {} : { HOLDFAST_TEST_INSTANCE: running.instance }),
    },
  });
  let passed = 0;
  const failures: string[] = [];
  let text = "";
  const print = (): void => {
    process.stdout.write(text);
    text = "";
  };
  events.on("test:pass", (event) => {
    if (event.details.type !== "suite" && !event.skip) passed += 1;
  });
  events.on("test:fail", (event) => {
    // A suite fails because of a test in it, which is counted already.
    const failure = event.details.error;
    const inherited = "failureType" in failure && failure.failureType === "subtestsFailed";
    if (inherited) return;
    failures.push(event.name);
    // Of a process that was ended from outside its tests nothing else is known.
    const { signal: killedBy, exitCode } = failure as { signal?: string | null; exitCode?: number | null };
    if (killedBy || exitCode !== undefined)
      text += `  ${event.name}: its process ended ${killedBy ? `by ${killedBy}` : `with status ${exitCode}`}\n`;
  });
  const reporter = new spec();
  reporter.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  for await (const event of events as AsyncIterable<RunEvent>) {
    if (event.type !== "test:diagnostic" || !sums.test(event.data.message)) reporter.write(event);
    if (running.live) print();
  }
  const ended = once(reporter, "end");
  reporter.end();
  await ended;
  if (running.signal.aborted) await hasLeft(cost);
  const seconds = (performance.now() - started) / 1000;
  text += `  ${file}: ${seconds.toFixed(1)} s\n`;
  print();
  const cpuSeconds = await readFile(cost, "utf8").then(Number, () => undefined);
  return { file, seconds, cpuSeconds, passed, failed: failures.length, failures };
};

/** A file that is told to end goes on until it has taken away what is its own, and node:test does not wait for that. */
const hasLeft = async (cost: string): Promise<void> => {
  const deadline = performance.now() + takingAwayMs;
  while (!existsSync(cost) && performance.now() < deadline) await sleep(100);
};
