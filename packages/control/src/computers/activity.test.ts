import assert from "node:assert/strict";
import { test } from "node:test";
import { ComputerActivity } from "./activity.ts";

const playing = () => {
  let now = 1_000;
  const activity = new ComputerActivity({ monotonic: () => now, now: () => 0, after: () => () => {} });
  return { activity, pass: (ms: number) => (now += ms) };
};

test("idle time is counted from the last of what happened, and not while something is under way", () => {
  const { activity, pass } = playing();
  pass(500);
  assert.equal(activity.quietMs("one"), 500, "nothing is known of the time before the start");
  const [first, second] = [activity.use("one"), activity.use("one")];
  pass(10_000);
  assert.equal(activity.quietMs("one"), 0);
  first();
  first();
  assert.equal(activity.inUse("one"), true, "one use ends once");
  second();
  pass(300);
  assert.equal(activity.quietMs("one"), 300);
  activity.touch("one");
  assert.equal(activity.quietMs("one"), 0);
});

test("who only looks keeps it from being frozen, and its idle time goes on", () => {
  const { activity, pass } = playing();
  activity.touch("one");
  const done = activity.look("one");
  pass(400);
  assert.equal(activity.inUse("one"), true);
  assert.equal(activity.quietMs("one"), 400);
  done();
  assert.equal(activity.inUse("one"), false);
  assert.equal(activity.quietMs("one"), 400);
});

test("what is known to have happened earlier does not take back what happened since", () => {
  const { activity, pass } = playing();
  pass(10_000);
  activity.touchedBefore("one", 3_000);
  assert.equal(activity.quietMs("one"), 3_000);
  activity.touchedBefore("one", 8_000);
  assert.equal(activity.quietMs("one"), 3_000);
});

test("who rests is told as it happens, the last word of each, and from the beginning to whoever asks first", async () => {
  const { activity } = playing();
  const never = new AbortController().signal;
  const { resting } = activity;
  activity.leave("one");
  activity.leave("two");
  activity.leave("one");
  const first = await resting.watch(0, 1000, 10, never);
  assert.deepEqual(first.changes, [
    { id: "one", rests: true },
    { id: "two", rests: true },
  ]);
  const waiting = resting.watch(first.next, 1000, 10, never);
  activity.stays("one");
  const next = await waiting;
  assert.deepEqual(next.changes, [{ id: "one", rests: false }]);
  const page = await resting.watch(0, 0, 1, never);
  assert.deepEqual(page.changes, [{ id: "two", rests: true }]);
  assert.deepEqual((await resting.watch(page.next, 0, 1, never)).changes, [{ id: "one", rests: false }]);
  assert.deepEqual(await resting.watch(next.next, 0, 10, never), { next: next.next, changes: [] });
});
