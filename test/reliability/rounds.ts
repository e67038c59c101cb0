import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { createComputer, pidsOf, run } from "../support/computer.ts";
import type { Assistant, Instance } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { startDriver, type Acknowledged } from "./driver.ts";

export type Strike =
  | { readonly kind: "kill"; readonly programs: readonly string[]; readonly afterOperations: number }
  | {
      readonly kind: "point";
      readonly program: "control" | "supervisor" | "launcher";
      readonly point: string;
    };

/** Serving again is promised within 5 s; a slow machine is no failure, a hang is. */
const servingWithinMs = 30_000;

export interface Bench {
  readonly instance: Instance;
  readonly assistants: readonly Assistant[];
  /** A computer that every round works on; neither it nor its `ticker` may ever end. */
  readonly computer: string;
  readonly ticker: string;
  readonly agent: string;
  readonly files: Readonly<Record<keyof typeof points, string>>;
  /** Of each strike: from the kill until everything served again. */
  readonly tookMs: number[];
}

/** Files into which a strike at a named point is written; for `usePrivateInstance`. */
export const crashFiles = (label: string) => {
  const directory = mkdtempSync(join(tmpdir(), `hf-test-${label}-`));
  chmodSync(directory, 0o755);
  const files = {
    control: join(directory, "control"),
    supervisor: join(directory, "supervisor"),
    launcher: join(directory, "launcher"),
  };
  for (const file of Object.values(files)) {
    writeFileSync(file, "");
    // Control is not root; it takes its own point out.
    chmodSync(file, 0o666);
  }
  after(() => rm(directory, { recursive: true, force: true }));
  const environment = {
    HOLDFAST_CRASH_FILE_CONTROL: files.control,
    HOLDFAST_CRASH_FILE_SUPERVISOR: files.supervisor,
    HOLDFAST_CRASH_FILE_LAUNCHER: files.launcher,
  };
  return { files, environment };
};

export const prepareBench = async (
  instance: Instance,
  files: Readonly<Record<keyof typeof points, string>>,
): Promise<Bench> => {
  const first = await instance.assistant();
  const computer = await createComputer(first);
  // Several clients of one assistant: each may see the computer.
  const assistants = [first, first, first, first];
  await run(first, computer, "mkdir -p /work/files");
  const ticker = await first.client.processes.start({
    computer,
    command: "trap '' HUP; while :; do date +%s%N > /work/tick; sleep 0.2; done",
  });
  instance.keepUp();
  const tookMs: number[] = [];
  return { instance, files, assistants, computer, ticker: ticker.id, agent: await agentOf(computer), tookMs };
};

/** The agent's pid with its start time: the same text only while the same process lives. */
const agentOf = async (computer: string): Promise<string> => {
  const [pid = ""] = await pidsOf(computer);
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return `${pid}@${fields[19]}`;
};

/** One round: load, a strike in the middle of it, recovery, and then everything that was promised is looked for. Whether the strike fell. */
export const playRound = async (
  context: Pick<TestContext, "diagnostic">,
  bench: Bench,
  round: number,
  strike: Strike,
): Promise<boolean> => {
  const driver = startDriver(bench.assistants, bench.computer, round);
  await until("the load runs", () => driver.count() >= 5, { withinMs: 20_000 });
  const tookMs = strike.kind === "kill" ? await kill(bench, driver, strike) : await crash(bench, strike);
  if (tookMs !== undefined) bench.tookMs.push(tookMs);
  context.diagnostic(
    `round ${round}: ${describe(strike)}: ${tookMs === undefined ? "not reached" : `serving again after ${Math.round(tookMs)} ms`}`,
  );
  const acknowledged = await driver.finish();
  context.diagnostic(
    `round ${round}: ${acknowledged.lines.size + acknowledged.started.size + acknowledged.files.size} acknowledged, ${acknowledged.repeated} repeated, ${acknowledged.lost.size} never begun`,
  );
  await check(bench, acknowledged, round);
  return tookMs !== undefined;
};

const describe = (strike: Strike): string =>
  strike.kind === "kill" ? `kill -9 ${strike.programs.join(", ")}` : `${strike.program} at ${strike.point}`;

const kill = async (
  bench: Bench,
  driver: { readonly count: () => number },
  strike: Extract<Strike, { kind: "kill" }>,
): Promise<number> => {
  const programs = await bench.instance.programs();
  await until("further operations", () => driver.count() >= strike.afterOperations, { withinMs: 20_000 });
  const pids = strike.programs.map((name) => programs[name]?.pid);
  for (const pid of pids) {
    assert.ok(pid, `one of ${strike.programs.join(", ")} does not run`);
    process.kill(pid, "SIGKILL");
  }
  const begin = performance.now();
  await serving(bench);
  return performance.now() - begin;
};

/** Undefined when the load did not come by that point. */
const crash = async (
  bench: Bench,
  strike: Extract<Strike, { kind: "point" }>,
): Promise<number | undefined> => {
  const file = bench.files[strike.program];
  await writeFile(file, strike.point);
  // The launcher passes its points only when there is something to do for it: when it starts, or a program does.
  if (strike.program === "launcher") {
    const programs = await bench.instance.programs();
    const victim = strike.point.startsWith("launcher-") ? programs["launcher"] : programs["control"];
    assert.ok(victim?.pid);
    process.kill(victim.pid, "SIGKILL");
  }
  // The point is taken out by the program that dies there.
  const died = await until("it dies there", async () => (await readFile(file, "utf8")) === "", {
    withinMs: 8000,
  }).then(
    () => true,
    () => false,
  );
  const begin = performance.now();
  await writeFile(file, "");
  await serving(bench);
  return died ? performance.now() - begin : undefined;
};

/** For the last line of a run. */
export const summary = ({ tookMs }: Bench): string => {
  const sorted = tookMs.map(Math.round).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `serving again after ${sorted.length} strikes: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms`;
};

/** Operations that need every program: a new computer, and a command in the one that was there before. */
const serving = async ({ assistants, computer }: Bench): Promise<void> => {
  const once = assistants[0]?.once;
  assert.ok(once);
  let last = "";
  await until(
    "it serves again",
    async () => {
      try {
        const made = await once.computers.create({ name: `probe-${randomBytes(5).toString("hex")}` });
        const result = await once.processes.exec({ computer, argv: ["true"] });
        return made.state === "awake" && result.process.exit_code === 0;
      } catch (error) {
        last = String(error);
        return false;
      }
    },
    { withinMs: servingWithinMs, detail: () => last },
  );
};

const check = async (bench: Bench, acknowledged: Acknowledged, round: number): Promise<void> => {
  const [assistant] = bench.assistants;
  assert.ok(assistant);
  const { computer } = bench;
  const lines = await numbersIn(assistant, computer, "/work/lines", round);
  const started = await numbersIn(assistant, computer, "/work/started", round);
  assert.deepEqual(twice(lines), [], "a command ran twice");
  assert.deepEqual(twice(started), [], "a process was started twice");
  assert.deepEqual(
    [...acknowledged.lines].filter((n) => !lines.includes(n)),
    [],
    "acknowledged commands are lost",
  );
  assert.deepEqual(
    [...acknowledged.started].filter((n) => !started.includes(n)),
    [],
    "acknowledged processes are lost",
  );
  assert.deepEqual([...acknowledged.lost], [], "commands are answered as lost though no cell ended");
  const { stdout } = await run(
    assistant,
    computer,
    "cd /work/files && for f in *; do echo $f $(cat $f); done",
  );
  const files = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  for (const n of acknowledged.files) assert.equal(files.get(String(n)), String(n), `file ${n}`);
  for (const [name, content] of files) assert.equal(content, name, `file ${name} is half written`);

  assert.equal(await agentOf(computer), bench.agent, "the cell ended");
  const ticker = await assistant.client.processes.get({ computer, process: bench.ticker });
  assert.equal(ticker.state, "running", "a process of the cell ended");

  const list = await assistant.client.computers.list({ limit: 200 });
  const there = new Map(list.computers.map(({ id, name }) => [id, name]));
  for (const [id, name] of acknowledged.computers)
    assert.equal(there.get(id), name, `computer ${name} is lost`);
  assert.equal(new Set(there.values()).size, there.size, "a name was given twice");
  let left: readonly string[] = [];
  await until(
    "nothing is left of what is not there",
    async () => (left = await bench.instance.leftovers([...there.keys()])).length === 0,
    {
      withinMs: 15_000,
      detail: () => left.join("; "),
    },
  );
  for (const id of there.keys())
    if (id !== computer) await assistant.client.computers.destroy({ computer: id });
};

const numbersIn = async (
  assistant: Assistant,
  computer: string,
  path: string,
  round: number,
): Promise<number[]> => {
  const { stream } = await assistant.client.files.download({ computer, path });
  const numbers = (await new Response(stream).text()).trim().split("\n").map(Number);
  return numbers.filter((n) => Math.floor(n / 100_000) === round);
};

const twice = (numbers: readonly number[]): number[] =>
  numbers.filter((n, index) => numbers.indexOf(n) !== index);

/** Numbers in [0, bound) that the seed alone decides (mulberry32). */
export const seeded = (seed: number): ((bound: number) => number) => {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
};

/** Seed and commit, for whoever wants the same run again: `HOLDFAST_TEST_SEED=<seed>`. */
export const announceSeed = (context: Pick<TestContext, "diagnostic">): number => {
  const seed = Number(process.env["HOLDFAST_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  const commit = spawnSync("git", ["rev-parse", "--short=12", "HEAD"], { encoding: "utf8" }).stdout.trim();
  context.diagnostic(`commit ${commit || "unknown"}, seed ${seed}`);
  return seed;
};

/** Names of crash points that the load comes by, in the order of the sources. */
export const points = {
  control: [
    "store-before-commit",
    "store-committed",
    "store-before-statement",
    "store-after-statement",
    "operation-before-admitted",
    "operation-admitted",
    "operation-before-settled",
    "operation-settled",
    "process-before-run",
    "process-after-run",
    "process-before-start",
    "process-after-start",
    "computer-create-admitted",
    "computer-state-admitted",
    "computer-before-volume",
    "computer-before-cell",
    "computer-after-cell",
    "computer-before-awake",
    "computer-before-freeze",
    "computer-after-freeze",
    "computer-before-destroy",
    "computer-after-destroy",
    "computer-recorded",
  ],
  supervisor: [
    "volume.create:begin",
    "volume.create:recorded",
    "volume.create:made",
    "volume.create:ready",
    "volume.destroy:begin",
    "volume.destroy:deleted",
    "volume.destroy:forgotten",
    "cell.start:recorded",
    "cell.start:prepared",
    "cell.start:made",
    "cell.start:running",
    "cell.freeze:begin",
    "cell.freeze:frozen",
    "cell.thaw:leased",
    "cell.thaw:thawed",
    "cell.exit:begin",
    "cell.exit:down",
    "cell.exit:recorded",
  ],
  launcher: [
    "launcher-before-announced",
    "launcher-announced",
    "program-before-start",
    "program-prepared",
    "program-started",
    "program-ended",
  ],
} as const;

/** What the load does not come by, and the file that does. */
export const pointsElsewhere: Readonly<Record<string, string>> = {
  "migration-before-commit": "control-crash-points.test.ts",
  "migration-committed": "control-crash-points.test.ts",
  "operation-before-reconciled": "control-crash-points.test.ts",
  "process-before-deleted": "machine-crash-points.test.ts",
  "process-before-observed": "machine-crash-points.test.ts",
  "process-observed": "machine-crash-points.test.ts",
  "computer-before-stop": "machine-crash-points.test.ts",
  "computer-after-stop": "machine-crash-points.test.ts",
  "computer-before-resize": "machine-crash-points.test.ts",
  "computer-after-resize": "machine-crash-points.test.ts",
  "services-before-apply": "machine-crash-points.test.ts",
  "services-applied": "machine-crash-points.test.ts",
  "service-before-restart": "machine-crash-points.test.ts",
  "volume.resize:begin": "supervisor.test.ts",
  "volume.resize:limited": "supervisor.test.ts",
  "volume.resize:recorded": "supervisor.test.ts",
  "cell.adopt:down": "supervisor.test.ts",
};

/** A strike at a point that every operation passes several times falls on one of these visits. */
const mostVisits = 12;

export const strikeAt = (
  program: keyof typeof points,
  point: string,
  random: (bound: number) => number,
): Strike => ({
  kind: "point",
  program,
  point: point.startsWith("store-") ? `${point}@${1 + random(mostVisits)}` : point,
});
