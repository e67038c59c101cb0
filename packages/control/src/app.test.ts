import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { startApp } from "./app.ts";

test("a start without a database says at once that it waits, and every half minute after", async () => {
  let nowMs = 0;
  const said: number[] = [];
  const given = new AbortController();
  const sleep = (ms: number): Promise<void> => {
    // Steps are made longer than asked for, so that a minute is not a thousand tries.
    nowMs += 20 * ms;
    if (nowMs > 65_000) given.abort(new HoldfastError("unavailable", "given up"));
    return given.signal.aborted ? Promise.reject(given.signal.reason as Error) : Promise.resolve();
  };
  const started = startApp(
    {
      databaseUrl: "postgres:///none?host=/nonexistent",
      clock: { ...systemClock, monotonic: () => nowMs, sleep },
      logger: { info: () => void said.push(nowMs), debug: () => {} },
      crashPoint: () => {},
    } as unknown as Parameters<typeof startApp>[0],
    given.signal,
  );
  await assert.rejects(started, /given up/);
  assert.deepEqual(said, [0, 30_000, 60_000]);
});
