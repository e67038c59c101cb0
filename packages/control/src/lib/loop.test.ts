import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { steppedClock } from "../../../../test/support/stepped-clock.ts";
import { Loop, type LoopParts } from "./loop.ts";

/** A loop on a clock of its own whose work is `work`, told the number of its run from 1 on. */
const start = (
  context: TestContext,
  work: (run: number, signal: AbortSignal) => Promise<void> | void,
  parts: Partial<LoopParts> = {},
) => {
  const clock = steppedClock();
  const log: string[] = [];
  let runs = 0;
  const loop = new Loop(
    {
      what: "looking around",
      everyMs: 1000,
      clock,
      logger: { warn: (message) => void log.push(message) },
      ...parts,
    },
    async (signal) => {
      runs += 1;
      await work(runs, signal);
    },
  );
  loop.start();
  context.after(() => loop.stop());
  return { clock, log, loop, runs: () => runs };
};

test("it runs at once and then after each rest, and rests first where that is wanted", async (context) => {
  const { clock, runs } = start(context, () => {});
  assert.equal(await clock.asleep(), 1000);
  assert.equal(runs(), 1);
  assert.equal(await clock.step(), 1000);
  assert.equal(runs(), 2);
  const later = start(context, () => {}, { restsFirst: true });
  assert.equal(await later.clock.asleep(), 1000);
  assert.equal(later.runs(), 0);
  await later.clock.step();
  assert.equal(later.runs(), 1);
});

test("of failures in a row the first is logged, they are tried again as told, and a run that goes well ends the row", async (context) => {
  const { clock, log } = start(
    context,
    (run) => {
      if (run !== 4) throw new Error("broken");
    },
    { retryMs: (failures) => failures * 10 },
  );
  assert.equal(await clock.asleep(), 10);
  assert.equal(await clock.step(), 20);
  assert.equal(await clock.step(), 30);
  assert.deepEqual(log, ["looking around failed"]);
  assert.equal(await clock.step(), 1000);
  assert.equal(await clock.step(), 10);
  assert.deepEqual(log, ["looking around failed", "looking around failed"]);
});

test("a bell cuts the rest short, and one that rings during a run is not lost, and asks for one run only", async (context) => {
  const first = Promise.withResolvers<void>();
  const { clock, loop, runs } = start(context, (run) => (run === 1 ? first.promise : undefined));
  loop.ring();
  loop.ring();
  assert.equal(runs(), 1);
  first.resolve();
  assert.equal(await clock.asleep(), 1000);
  assert.equal(runs(), 2);
  loop.ring();
  assert.equal(await clock.asleep(), 1000);
  assert.equal(runs(), 3);
});

test("what rings within the least rest is looked at together", async (context) => {
  const { clock, loop, runs } = start(context, () => {}, { leastMs: 20 });
  assert.equal(await clock.asleep(), 20);
  loop.ring();
  loop.ring();
  assert.equal(runs(), 1);
  assert.equal(await clock.step(), 20);
  assert.equal(runs(), 2);
  assert.equal(await clock.step(), 980);
});

test("to stop is to wait for what is under way, to begin nothing after it, and to log nothing of it", async (context) => {
  const { log, loop, runs } = start(
    context,
    (_run, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cut off")))),
  );
  loop.ring();
  const reason = new Error("enough");
  await loop.stop(reason);
  assert.equal(loop.signal.reason, reason);
  assert.deepEqual([runs(), log], [1, []]);
});

test("a loop that rests stops at once, and one that was never started has nothing to stop", async (context) => {
  const { clock, loop, runs } = start(context, () => {});
  await clock.asleep();
  await loop.stop();
  assert.equal(runs(), 1);
  const never = new Loop({ what: "", everyMs: 1, clock, logger: { warn: () => {} } }, async () => {});
  await never.stop();
});
