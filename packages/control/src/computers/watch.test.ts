import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { HoldfastError } from "@holdfast/contract";
import { Watch, type WatchParts } from "./watch.ts";

const answerMs = 25_000;

/**
 * A watch on a clock of its own, whose supervisor and database do not answer from `from` to `to`: when it was asked, what was logged, when
 * all were hurried.
 */
const watched = async (from: number, to: number, until: number) => {
  let nowMs = 0;
  const asleep: { readonly at: number; readonly wake: () => void }[] = [];
  const asked: { readonly method: string; readonly at: number }[] = [];
  const hurried: number[] = [];
  const log: string[] = [];
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      asleep.push({ at: nowMs + ms, wake: resolve });
      signal?.addEventListener("abort", () => reject(new Error("aborted")));
    });
  const refuseWhileAway = (): void => {
    if (nowMs >= from && nowMs < to) throw new HoldfastError("unavailable", "nobody listens");
  };
  const rows = (): Promise<readonly never[]> => {
    refuseWhileAway();
    return Promise.resolve([]);
  };
  const statement: object = new Proxy(
    {},
    { get: (_target, name) => (name === "execute" ? rows : () => statement) },
  );
  const watch = new Watch({
    db: { selectFrom: () => statement },
    supervisor: {
      call: async (method: string) => {
        asked.push({ method, at: nowMs });
        refuseWhileAway();
        if (method !== "events.wait") return { cells: [], missing: [] };
        await sleep(nowMs < from ? Math.min(answerMs, from - nowMs) : answerMs);
        refuseWhileAway();
        return { next: 0, events: [] };
      },
    },
    reconciler: { nudge: () => {}, hurry: () => void hurried.push(nowMs) },
    clock: { monotonic: () => nowMs, sleep },
    logger: { warn: (message: string) => void log.push(message) },
  } as unknown as WatchParts);
  watch.start();
  while (nowMs < until) {
    await setImmediate();
    asleep.sort((one, other) => one.at - other.at);
    const next = asleep.shift();
    assert.ok(next, "something is always waited for");
    nowMs = next.at;
    next.wake();
  }
  await setImmediate();
  const ready = watch.notReady();
  await watch.stop();
  return { asked, hurried, log, ready };
};

test("a supervisor that stays away is said to be away once, asked ever less often, and found within a second", async () => {
  const [from, to] = [60_000, 660_000];
  const { asked, hurried, log, ready } = await watched(from, to, to + 5_000);
  assert.deepEqual(log.toSorted(), [
    "comparing computers failed",
    "renewing leases failed",
    "the supervisor does not answer",
  ]);
  const times = asked.filter(({ method, at }) => method === "events.wait" && at >= from && at < to);
  const gaps = times.slice(1).map(({ at }, index) => Math.round(at - (times[index]?.at ?? 0)));
  assert.deepEqual(gaps.slice(0, 3), [50, 50, 50]);
  assert.deepEqual(
    gaps,
    gaps.toSorted((one, other) => one - other),
  );
  assert.equal(gaps.at(-1), 1000);
  // By all that ask together, once it has been away for some minutes.
  const late = asked.filter(({ at }) => at >= to - 60_000 && at < to);
  assert.ok(late.length <= 140, `${late.length} questions in a minute`);
  assert.ok((hurried[0] ?? Infinity) - to <= 1000, `hurried at ${hurried[0]}`);
  assert.equal(ready, undefined);
});
