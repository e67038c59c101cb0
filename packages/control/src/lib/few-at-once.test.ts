import assert from "node:assert/strict";
import { test } from "node:test";
import { FewAtOnce } from "./few-at-once.ts";

test("so many run, so many wait in their order, and the rest is refused; a failure hands its place on", async () => {
  const few = new FewAtOnce({ atOnce: 2, waiting: 2 });
  const begun: number[] = [];
  const ends = [0, 1, 2, 3, 4].map(() => Promise.withResolvers<number>());
  const runs = ends.map(({ promise }, index) =>
    few.run(() => {
      begun.push(index);
      return promise;
    }),
  );
  await assert.rejects(runs[4] ?? Promise.resolve(), { code: "unavailable" });
  assert.deepEqual([begun, few.size], [[0, 1], 4]);
  ends[1]?.reject(new Error("one"));
  await assert.rejects(runs[1] ?? Promise.resolve(), /one/);
  assert.deepEqual(begun, [0, 1, 2]);
  ends[0]?.resolve(0);
  ends[2]?.resolve(2);
  ends[3]?.resolve(3);
  assert.deepEqual(await Promise.all([runs[0], runs[2], runs[3]]), [0, 2, 3]);
  assert.equal(few.size, 0);
  assert.equal(await few.run(() => Promise.resolve("again")), "again");
});
