import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "@holdfast/kit";
import { watchReadiness } from "./readiness.ts";

/** Waits last a turn of the loop. */
const clock = {
  ...systemClock,
  sleep: async (_ms: number, signal?: AbortSignal) => {
    await turn();
    signal?.throwIfAborted();
  },
};

test("a program is asked until it serves, whatever it says or not before, and no more then", {
  timeout: 5000,
}, async () => {
  const answers = [() => Promise.reject(new Error("no socket yet")), () => Promise.resolve("starting")];
  const { promise: served, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const seen = watchReadiness(
    async () => {
      asked += 1;
      const answer = answers.shift();
      assert.equal(seen(), false);
      if (answer) return answer();
      resolve();
      return undefined;
    },
    clock,
    new AbortController().signal,
  );
  await served;
  for (let count = 0; count < 10; count += 1) await turn();
  assert.deepEqual([seen(), asked], [true, 3]);
});

test("one that ended is asked no more, and has not served", async () => {
  const end = new AbortController();
  let asked = 0;
  const seen = watchReadiness(
    () => {
      asked += 1;
      if (asked === 2) end.abort();
      return Promise.resolve("starting");
    },
    clock,
    end.signal,
  );
  for (let count = 0; count < 10; count += 1) await turn();
  assert.deepEqual([seen(), asked], [false, 2]);
});
