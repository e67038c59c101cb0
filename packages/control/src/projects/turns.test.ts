import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "@holdfast/kit";
import { Turns } from "./turns.ts";

/** A clock that runs out when it is told to. */
const played = () => {
  const waiting = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (_ms, callback) => {
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
  };
  return { clock, waiting };
};

test("work on one thing goes one after the other, on another beside it, also after a failure", async () => {
  const { clock, waiting } = played();
  const turns = new Turns(clock, 1000);
  const said: string[] = [];
  const first = Promise.withResolvers<void>();
  const one = turns.take("a", async () => {
    said.push("one begins");
    await first.promise;
    said.push("one ends");
    throw new Error("broken");
  });
  const two = turns.take("a", async () => void said.push("two"));
  await turns.take("b", async () => void said.push("beside"));
  assert.deepEqual(said, ["one begins", "beside"]);
  first.resolve();
  await assert.rejects(one, /broken/);
  await two;
  assert.deepEqual(said, ["one begins", "beside", "one ends", "two"]);
  assert.equal(waiting.size, 0, "no timer is left");
});

test("whoever waits too long is refused, does nothing, and does not let the next one in", async () => {
  const { clock, waiting } = played();
  const turns = new Turns(clock, 1000);
  const said: string[] = [];
  const first = Promise.withResolvers<void>();
  const one = turns.take("a", async () => {
    await first.promise;
    said.push("one");
  });
  const late = turns.take("a", async () => void said.push("late"));
  const refused = assert.rejects(late, { code: "operation_running" });
  for (const expire of waiting) expire();
  await refused;
  const three = turns.take("a", async () => void said.push("three"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(said, []);
  first.resolve();
  await Promise.all([one, three]);
  assert.deepEqual(said, ["one", "three"]);
});
