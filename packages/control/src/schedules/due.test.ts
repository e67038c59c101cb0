import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dueOf, type MissedPolicy, onTimeMs } from "./due.ts";
import { retryOf } from "./retry.ts";
import { type Timing, Timings } from "./timing.ts";

const hourMs = 3_600_000;
const timings = new Timings();
const hourly: Timing = {
  cron: "0 * * * *",
  everyMs: null,
  atMs: null,
  event: false,
  anchorMs: 0,
  timeZone: "UTC",
};
const policy = (missed: MissedPolicy["missed"], most = 10): MissedPolicy => ({ missed, missed_most: most });
const due = (missed: MissedPolicy, firstMs: number, nowMs: number, timing = hourly) =>
  dueOf(timings, timing, missed, firstMs, nowMs);
const noon = Date.parse("2026-06-01T12:00:00Z");

describe("slots that have come", () => {
  test("one that has just come is on time, and the next one follows it", () => {
    for (const lateMs of [0, 1, 250, onTimeMs])
      assert.deepEqual(due(policy("skip"), noon, noon + lateMs), {
        slots: [{ slotMs: noon, cause: "slot" }],
        nextMs: noon + hourMs,
        missedSinceMs: null,
      });
  });

  test("what was missed follows its policy; one that is on time beside it is a slot of its own", () => {
    const now = noon + 5 * hourMs + 60_000;
    const slots = (missed: MissedPolicy, at = now) =>
      due(missed, noon, at).slots.map(({ slotMs, cause }) => [(slotMs - noon) / hourMs, cause]);
    assert.deepEqual(slots(policy("skip")), []);
    assert.deepEqual(slots(policy("run_once")), [[5, "missed"]]);
    assert.deepEqual(slots(policy("run_each", 3)), [
      [3, "missed"],
      [4, "missed"],
      [5, "missed"],
    ]);
    assert.equal(slots(policy("run_each", 24)).length, 6);
    assert.deepEqual(slots(policy("run_once"), noon + 2 * hourMs + 5), [
      [1, "missed"],
      [2, "slot"],
    ]);
    const told = due(policy("skip"), noon, now);
    assert.deepEqual([told.nextMs, told.missedSinceMs], [noon + 6 * hourMs, noon]);
  });

  test("a schedule of each second loses none to a moment's delay, and makes up for a week within its limit", () => {
    const often: Timing = { ...hourly, cron: "* * * * * *" };
    assert.equal(due(policy("skip"), noon, noon + 3500, often).slots.length, 4);
    const week = due(policy("run_each", 24), noon, noon + 7 * 24 * hourMs, often).slots;
    assert.equal(week.filter(({ cause }) => cause === "missed").length, 24);
    assert.ok(week.length <= 48, String(week.length));
  });

  test("once is once", () => {
    const once: Timing = { ...hourly, cron: null, atMs: noon };
    assert.deepEqual(due(policy("run_once"), noon, noon + 3, once), {
      slots: [{ slotMs: noon, cause: "slot" }],
      nextMs: null,
      missedSinceMs: null,
    });
    assert.deepEqual(due(policy("run_once"), noon, noon + hourMs, once).slots, [
      { slotMs: noon, cause: "missed" },
    ]);
    assert.deepEqual(due(policy("skip"), noon, noon + hourMs, once).slots, []);
  });

  test("a clock that jumps about makes no slot twice", () => {
    const made = new Set<number>();
    let first: number | null = noon;
    // Wall times that a control saw one after the other.
    for (const minutes of [0, 1, 61, 200, 130, 61, 0, -500, 199, 241, 240, 301]) {
      const nowMs = noon + minutes * 60_000;
      if (first === null || first > nowMs) continue;
      const now = due(policy("run_each", 24), first, nowMs);
      for (const { slotMs } of now.slots) {
        assert.ok(!made.has(slotMs), new Date(slotMs).toISOString());
        made.add(slotMs);
      }
      first = now.nextMs;
    }
    assert.deepEqual(
      [...made],
      [0, 1, 2, 3, 4, 5].map((hours) => noon + hours * hourMs),
    );
  });
});

describe("retries", () => {
  const some = { retries: 3, retryBackoffMs: 10_000, retriesPerDay: 4 };
  const fresh = { day: 0, used: 0 };

  test("each waits twice as long as the one before, an hour at most, and there is an end", () => {
    const waits = [1, 2, 3, 4].map((attempt) => retryOf(some, attempt, fresh, noon));
    assert.deepEqual(
      waits.map((one) => one && one.atMs - noon),
      [10_000, 20_000, 40_000, null],
    );
    const long = { retries: 10, retryBackoffMs: hourMs, retriesPerDay: 100 };
    assert.equal(retryOf(long, 9, fresh, noon)?.atMs, noon + hourMs);
    assert.equal(retryOf({ ...some, retries: 0 }, 1, fresh, noon), null);
  });

  test("a day's budget is spent over all runs, and the next day has its own", () => {
    let spent = fresh;
    for (let used = 0; used < 4; used += 1) {
      const one = retryOf(some, 1, spent, noon);
      assert.ok(one);
      spent = one.spent;
    }
    assert.equal(retryOf(some, 1, spent, noon), null);
    assert.equal(retryOf(some, 1, spent, Date.parse("2026-06-01T23:59:59.999Z")), null);
    assert.equal(retryOf(some, 1, spent, Date.parse("2026-06-02T00:00:00Z"))?.spent.used, 1);
  });
});
