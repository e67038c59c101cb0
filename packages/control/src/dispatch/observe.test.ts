import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import type { Result } from "../domain/handler.ts";
import { createObserve } from "./observe.ts";
import type { Progress } from "./progress.ts";

/** What became of a look for which something was reserved: how often that was given back, and the answer. */
const looked = async (
  run: () => Promise<Result>,
  reserve = (): void => {},
): Promise<{ readonly given: () => number; readonly answer: Result | string }> => {
  let given = 0;
  const observe = createObserve({
    records: { reserve, add: () => {}, refuse: () => {} },
    recorder: { ended: () => {} } as never,
    logger: { warn: () => {}, error: () => {} } as never,
  });
  const progress = { leave: () => {} } as Progress;
  const release = (): Promise<void> => {
    given += 1;
    return Promise.resolve();
  };
  const answer = await observe(progress, { release }, run).catch((error: unknown) =>
    error instanceof HoldfastError ? error.code : String(error),
  );
  return { given: () => given, answer };
};
const output = { output: {} as never } as Result;

test("what was reserved for a look is given back when it is answered, fails, or cannot be recorded", async () => {
  assert.equal((await looked(() => Promise.resolve(output))).given(), 1);
  const failed = await looked(() => Promise.reject(new HoldfastError("not_found", "gone")));
  assert.deepEqual([failed.answer, failed.given()], ["not_found", 1]);
  const full = await looked(
    () => Promise.resolve(output),
    () => {
      throw new HoldfastError("unavailable", "the queue is full");
    },
  );
  assert.deepEqual([full.answer, full.given()], ["unavailable", 1]);
});

test("that of a stream at its end", async () => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("x");
  }
  const { answer, given } = await looked(() =>
    Promise.resolve({ bytes: bytes(), contentType: "text/plain" }),
  );
  assert.equal(given(), 0);
  assert.ok(typeof answer === "object" && "bytes" in answer);
  for await (const piece of answer.bytes) assert.equal(piece.length, 1);
  assert.equal(given(), 1);
});
