import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createLogger } from "@holdfast/kit";
import { createCounting } from "./counting.ts";

const logger = createLogger({ program: "test", now: () => 0, level: "error", write: () => {} });

test("a copy that makes the kernel lose count is counted before the next, and nobody waits who copies nothing", async () => {
  const said: string[] = [];
  const counted = Promise.withResolvers<void>();
  let lost = true;
  const counting = createCounting(
    "/pool",
    {
      hasLostCount: () => Promise.resolve(lost),
      count: async () => {
        said.push("counting");
        await counted.promise;
        lost = false;
        said.push("counted");
      },
    },
    logger,
  );
  const copy = (name: string): Promise<void> => counting.copying(async () => void said.push(name));
  await copy("first");
  const second = copy("second");
  await setImmediate();
  assert.deepEqual(said, ["first", "counting"], "the first was answered, the second waits");
  counted.resolve();
  await second;
  assert.deepEqual(said, ["first", "counting", "counted", "second"], "which lost no count");
  await counting.settled();
});

test("a count that fails, or cannot be asked for, fails no copy and holds up none", async () => {
  const counting = createCounting(
    "/pool",
    {
      hasLostCount: () => Promise.reject(new Error("no such file")),
      count: () => Promise.reject(new Error("the helper is gone")),
    },
    logger,
  );
  assert.equal(await counting.copying(() => Promise.resolve(1)), 1);
  await assert.rejects(
    counting.copying(() => Promise.reject(new Error("no room"))),
    /no room/,
  );
  assert.equal(await counting.copying(() => Promise.resolve(2)), 2);
});

test("what the kernel loses count of by itself is counted, and nothing where it does not say", async () => {
  let lost: boolean | undefined = true;
  let counts = 0;
  const count = async (): Promise<void> => {
    counts += 1;
  };
  const counting = createCounting("/pool", { hasLostCount: () => Promise.resolve(lost), count }, logger);
  for (lost of [true, false, undefined]) await counting.look();
  assert.equal(counts, 1);
  await counting.copying(() => Promise.resolve());
  assert.equal(counts, 2, "a copy on such a kernel is not trusted");
});
