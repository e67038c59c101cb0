import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { createStrangers } from "./strangers.ts";

const clock = { ...systemClock, monotonic: () => 0 };

const codeOf = (error: unknown): string => (error instanceof HoldfastError ? error.code : String(error));

test("strangers are looked up few at a time, and few more wait; who was introduced, or found before, goes beside them", async () => {
  const strangers = createStrangers(clock, { what: "tokens", strangers: { atOnce: 2, waiting: 1 } });
  const slow = Promise.withResolvers<undefined>();
  const refused: string[] = [];
  const looked: number[] = [];
  const flood = Array.from({ length: 5 }, (_, index) =>
    strangers
      .meet(`stranger ${index}`, `place ${index}`, () => {
        looked.push(index);
        return slow.promise;
      })
      .catch((error: unknown) => void refused.push(codeOf(error))),
  );
  strangers.introduce("friend");
  assert.equal(await strangers.meet("friend", "place 0", () => Promise.resolve("found")), "found");
  assert.equal(await strangers.meet("friend", "place 0", () => Promise.resolve("again")), "again");
  assert.deepEqual(looked, [0, 1]);
  slow.resolve(undefined);
  await Promise.all(flood);
  assert.deepEqual(looked, [0, 1, 2]);
  assert.deepEqual(refused, ["unavailable", "unavailable"]);
  assert.equal(await strangers.meet("late", "another place", () => Promise.resolve("found")), "found");
});

test("whoever is not found is not looked for again, and counts where it came from", async () => {
  const strangers = createStrangers(clock, { what: "tokens" });
  let looked = 0;
  const nobody = (): Promise<undefined> => {
    looked += 1;
    return Promise.resolve(undefined);
  };
  for (let index = 0; index < 3; index += 1) await strangers.meet("same", "here", nobody);
  assert.equal(looked, 1);
  const codes = new Set<string>();
  for (let index = 0; index < limits.unknownCredentialsPerWindow; index += 1)
    await strangers
      .meet(`other ${index}`, "here", nobody)
      .catch((error: unknown) => codes.add(codeOf(error)));
  assert.equal(looked, limits.unknownCredentialsPerWindow);
  assert.deepEqual([...codes], ["rate_limited"]);
  assert.equal(await strangers.meet("other", "elsewhere", nobody), undefined);
});

test("a friend who is gone is a stranger again", async () => {
  const strangers = createStrangers(clock, { what: "tokens", strangers: { atOnce: 0, waiting: 0 } });
  strangers.introduce("friend");
  assert.equal(await strangers.meet("friend", "here", () => Promise.resolve(undefined)), undefined);
  assert.equal(await strangers.meet("friend", "here", () => Promise.resolve("found")), undefined);
});
