import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import { runsOf, settledRuns, slotFaults, slotTimes } from "../../support/holding.ts";
import { run } from "../../support/computer.ts";
import { seeded } from "../../support/seeded.ts";
import { hangMs, until } from "../../support/until.ts";
import { untilAcknowledged } from "../acknowledge.ts";
import { say } from "../say.ts";
import { appendLine, type Bench, linesOf, makeSubject, newName } from "./bench.ts";
import { moves } from "./moves.ts";

const programs = ["control", "supervisor", "postgres"] as const;

/** How long after a move has begun the strike falls, at most. */
const lateMs = 400;

/** A move each, with some of the programs killed in the middle of it; then everything that was promised is looked for. */
export const playHoldingRounds = async (
  context: Pick<TestContext, "diagnostic">,
  bench: Bench,
  seed: number,
  count: number,
): Promise<void> => {
  const random = seeded(seed);
  const names = Object.keys(moves);
  const offset = random(names.length);
  const tookMs: number[] = [];
  const began = performance.now();
  for (let round = 0; round < count; round += 1) {
    const move = names[(round + offset) % names.length] ?? "";
    // A number from 1 to 7 is a set of at least one.
    const set = 1 + random(2 ** programs.length - 1);
    const struck = programs.filter((_, bit) => (set >> bit) & 1);
    const afterMs = random(lateMs);
    const seconds = Math.round((performance.now() - began) / 1000);
    const what = `${seconds} s, seed ${seed}, round ${round + 1} of ${count}: ${move}, after ${afterMs} ms kill -9 ${struck.join(", ")}`;
    say(what);
    try {
      const ms = await playRound(bench, { move, struck, afterMs });
      tookMs.push(ms);
      say(`serving again after ${Math.round(ms)} ms`);
    } catch (error) {
      say(`failed: ${inspect(error, { depth: 8 })}`);
      throw new Error(what, { cause: error });
    }
  }
  tookMs.sort((a, b) => a - b);
  context.diagnostic(
    `${count} rounds in ${Math.round((performance.now() - began) / 1000)} s; serving again: p50 ${Math.round(tookMs[count >> 1] ?? 0)} ms, max ${Math.round(tookMs.at(-1) ?? 0)} ms`,
  );
};

interface Round {
  readonly move: string;
  readonly struck: readonly string[];
  readonly afterMs: number;
}

/** How long it took until everything served again. */
const playRound = async (bench: Bench, { move, struck, afterMs }: Round): Promise<number> => {
  const subject = await makeSubject(bench);
  const prepare = moves[move];
  assert.ok(prepare);
  const { act, check } = await prepare(bench, subject);
  const schedule = await startSchedule(bench);
  const load = startLines(bench);
  const before = await bench.instance.programs();

  const acting = act();
  // Looked at below; until then a failure must not end the test's process.
  acting.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  for (const name of struck) {
    const pid = before[name]?.pid;
    assert.ok(pid, `${name} does not run`);
    process.kill(pid, "SIGKILL");
  }
  const begin = performance.now();
  await acting;
  await serving(bench, begin);
  const tookMs = performance.now() - begin;
  await check();

  await load.finish();
  await schedule.finish();
  await nothingIsLeft(bench);
  return tookMs;
};

const serving = async ({ assistant, clockwork }: Bench, killedAt: number): Promise<void> => {
  await untilAcknowledged("a command", () =>
    assistant.once.processes.exec({ computer: clockwork, argv: ["true"] }),
  );
  await untilAcknowledged("a computer", async () => {
    const { id } = await assistant.once.computers.create({ name: newName("probe") });
    await assistant.once.computers.destroy({ computer: id });
  });
  assert.ok(performance.now() - killedAt < 4 * hangMs);
};

/** A schedule of one run a second on the clockwork; every one of its slots has exactly one run, and each run ran once. */
const startSchedule = async (bench: Bench): Promise<{ finish(): Promise<void> }> => {
  const { assistant, clockwork: computer } = bench;
  const name = newName("ticks");
  const everyMs = 1000;
  const { id: schedule } = await assistant.client.schedules.create({
    computer,
    name,
    command: `echo $HOLDFAST_RUN >> /work/${name}`,
    every_ms: everyMs,
    missed: "run_each",
    missed_most: 24,
    overlap: "queue",
  });
  return {
    finish: async () => {
      // On a quick host the round may be over before its first second is.
      await until("a slot comes", async () => slotTimes(await runsOf(assistant, schedule)).length > 0, {
        withinMs: hangMs,
      });
      const runs = await settledRuns(assistant, schedule);
      assert.deepEqual(slotFaults(runs, everyMs), [], "runs that were dropped or doubled");
      const odd = runs.filter(({ state }) => state !== "succeeded");
      assert.deepEqual(odd, [], "runs that did not succeed");
      const { stdout } = await run(assistant, computer, `cat /work/${name}; rm /work/${name}`);
      const ran = stdout.trim().split("\n");
      assert.deepEqual(ran.toSorted(), runs.map(({ id }) => id).toSorted(), "each run ran once");
      await assistant.client.schedules.delete({ schedule });
    },
  };
};

/** Appends lines to the clockwork's file, one after another; each that is acknowledged is there once. */
const startLines = (bench: Bench): { finish(): Promise<void> } => {
  let over = false;
  let line = 0;
  const running = (async () => {
    const base = (await linesOfOrNone(bench)).at(-1) ?? 0;
    const first = base + 1;
    line = base;
    while (!over) {
      await appendLine(bench, bench.clockwork, line + 1);
      line += 1;
    }
    return first;
  })();
  running.catch(() => {});
  return {
    finish: async () => {
      over = true;
      const first = await running;
      const there = (await linesOf(bench, bench.clockwork)).filter((number) => number >= first);
      assert.deepEqual(
        there,
        Array.from({ length: line - first + 1 }, (_, index) => first + index),
        "acknowledged lines",
      );
    },
  };
};

const linesOfOrNone = async (bench: Bench): Promise<readonly number[]> => {
  const command = "touch /work/lines";
  await untilAcknowledged("touch", () =>
    bench.assistant.once.processes.exec({ computer: bench.clockwork, command }),
  );
  return linesOf(bench, bench.clockwork);
};

/** Destroys what the round made; then the host has nothing but the clockwork, and the pool no snapshot. */
const nothingIsLeft = async ({ instance, assistant, clockwork }: Bench): Promise<void> => {
  const { computers } = await assistant.client.computers.list({ limit: 200 });
  for (const { id } of computers)
    if (id !== clockwork) await assistant.client.computers.destroy({ computer: id });
  let left: readonly string[] = [];
  await until("nothing is left", async () => (left = await instance.leftovers([clockwork])).length === 0, {
    withinMs: hangMs,
    detail: () => left.join("; "),
  });
};
