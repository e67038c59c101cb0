import assert from "node:assert/strict";
import { test } from "node:test";
import { createGrowth, roomToStartBytes } from "./growth.ts";

test("a computer that starts on a full disk keeps its room whatever another does meanwhile", async () => {
  const limits: number[] = [];
  const growth = createGrowth("/proc", {
    heldBytes: () => Promise.resolve(2 ** 50),
    limitGroup: (_pool, _group, bytes) => {
      limits.push(Math.round((bytes - 2 ** 50) / roomToStartBytes));
      return Promise.resolve();
    },
  });
  await growth.renew();
  const free = limits.pop() ?? 0;
  const extra = (): number => Math.round((limits.at(-1) ?? 0) - free);
  await growth.withRoom(async () => {
    await growth.withRoom(async () => assert.equal(extra(), 2));
    assert.equal(extra(), 1, "after another's end");
    await growth.renew();
    assert.equal(extra(), 1, "after the limit was set anew");
  });
  assert.equal(extra(), 0);
  await assert.rejects(growth.withRoom(() => Promise.reject(new Error("it did not start"))));
  assert.equal(extra(), 0, "after a failure");
});
