import assert from "node:assert/strict";
import { test } from "node:test";
import { Lane } from "./lane.ts";

test("so many at the same time, few of each key, in their order, and a failure makes room", async () => {
  const lane = new Lane(3, 2);
  const begun: string[] = [];
  const ends = new Map<string, (failed: boolean) => void>();
  const enter = (name: string): Promise<void> =>
    lane.run(name.slice(0, 1), async () => {
      begun.push(name);
      if (await new Promise<boolean>((end) => ends.set(name, end))) throw new Error(name);
    });
  const all = ["a1", "a2", "a3", "b1", "c1", "c2"].map((name) => enter(name).catch(() => name));
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await settle();
  assert.deepEqual(begun, ["a1", "a2", "b1"]);
  assert.equal(lane.size, 6);
  ends.get("b1")?.(true);
  await settle();
  // Another of a's would be its third.
  assert.deepEqual(begun, ["a1", "a2", "b1", "c1"]);
  ends.get("a1")?.(false);
  await settle();
  assert.deepEqual(begun.slice(4), ["a3"]);
  for (const name of ["a2", "a3", "c1"]) ends.get(name)?.(false);
  await settle();
  ends.get("c2")?.(false);
  assert.deepEqual((await Promise.all(all)).filter(Boolean), ["b1"]);
  assert.equal(lane.size, 0);
});
