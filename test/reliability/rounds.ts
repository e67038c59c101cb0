import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { TestContext } from "node:test";
import { createComputer, pidsOf, run } from "../support/computer.ts";
import type { Assistant, Instance } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { startDriver, type Acknowledged } from "./driver.ts";

export type Strike =
  | { readonly kind: "kill"; readonly programs: readonly string[]; readonly afterOperations: number }
  | { readonly kind: "point"; readonly program: "control" | "supervisor"; readonly point: string };

/** Serving again is promised within 5 s; a slow machine is no failure, a hang is. */
const servingWithinMs = 30_000;

export interface Bench {
  readonly instance: Instance;
  readonly assistants: readonly Assistant[];
  /** A computer that every round works on; neither it nor its `ticker` may ever end. */
  readonly computer: string;
  readonly ticker: string;
  readonly agent: string;
}

export const prepareBench = async (instance: Instance): Promise<Bench> => {
  const first = await instance.assistant();
  const computer = await createComputer(first);
  // Several clients of one assistant: each may see the computer.
  const assistants = [first, first, first, first];
  await run(first, computer, "mkdir -p /work/files");
  const ticker = await first.client.processes.start({
    computer,
    command: "trap '' HUP; while :; do date +%s%N > /work/tick; sleep 0.2; done",
  });
  return { instance, assistants, computer, ticker: ticker.id, agent: await agentOf(computer) };
};

/** The agent's pid with its start time: the same text only while the same process lives. */
const agentOf = async (computer: string): Promise<string> => {
  const [pid = ""] = await pidsOf(computer);
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return `${pid}@${fields[19]}`;
};

/** One round: load, a strike in the middle of it, recovery, and then everything that was promised is looked for. */
export const playRound = async (
  context: Pick<TestContext, "diagnostic">,
  bench: Bench,
  round: number,
  strike: Strike,
): Promise<void> => {
  const driver = startDriver(bench.assistants, bench.computer, round);
  try {
    await until("the load runs", () => driver.count() >= 5, { withinMs: 20_000 });
    const tookMs = strike.kind === "kill" ? await kill(bench, driver, strike) : await crash(bench, strike);
    context.diagnostic(
      `round ${round}: ${describe(strike)}: ${tookMs === undefined ? "not reached" : `serving again after ${Math.round(tookMs)} ms`}`,
    );
  } finally {
    await bench.instance.up();
  }
  const acknowledged = await driver.finish();
  context.diagnostic(
    `round ${round}: ${acknowledged.lines.size + acknowledged.started.size + acknowledged.files.size} acknowledged, ${acknowledged.repeated} repeated, ${acknowledged.lost.size} never begun`,
  );
  await check(bench, acknowledged, round);
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
  // Nobody watches the launcher itself: the next `up` starts it, as systemd does where the unit is installed.
  if (strike.programs.includes("launcher")) await bench.instance.up();
  await serving(bench);
  return performance.now() - begin;
};

/** Undefined when the load did not come by that point. */
const crash = async (
  bench: Bench,
  strike: Extract<Strike, { kind: "point" }>,
): Promise<number | undefined> => {
  const variable = `HOLDFAST_CRASH_POINT_${strike.program.toUpperCase()}`;
  await bench.instance.up({ [variable]: strike.point }).catch(() => undefined);
  const armed = (await bench.instance.programs())[strike.program]?.pid;
  const died = await until(
    "it dies there",
    async () => (await bench.instance.programs())[strike.program]?.pid !== armed,
    { withinMs: 4000 },
  ).then(
    () => true,
    () => false,
  );
  const begin = performance.now();
  await bench.instance.up();
  await serving(bench);
  return died ? performance.now() - begin : undefined;
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
  const ran = [...lines, ...started];
  assert.deepEqual(
    [...acknowledged.lost].filter((n) => ran.includes(n)),
    [],
    "a command that ran was answered as lost",
  );
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

/** Names of crash points that the load comes by. */
export const points = {
  control: [
    "operation-admitted",
    "operation-ran",
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
    "volume.create:recorded",
    "volume.create:made",
    "volume.create:ready",
    "volume.destroy:recorded",
    "volume.destroy:deleted",
    "volume.destroy:forgotten",
    "cell.start:recorded",
    "cell.start:prepared",
    "cell.start:made",
    "cell.start:running",
    "cell.freeze:frozen",
    "cell.thaw:leased",
    "cell.exit:down",
  ],
} as const;
