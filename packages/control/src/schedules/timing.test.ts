import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { localTime, type Timing, Timings } from "./timing.ts";

const timings = new Timings();
const timing = (more: Partial<Timing>): Timing => ({
  cron: null,
  everyMs: null,
  atMs: null,
  event: false,
  anchorMs: 0,
  timeZone: "UTC",
  ...more,
});
const ms = (at: string): number => Date.parse(at);
const iso = (at: number): string => new Date(at).toISOString().replace(":00.000Z", "Z");
const next = (cron: string, timeZone: string, from: string, count: number): readonly string[] =>
  timings.preview(timing({ cron, timeZone }), ms(from), count).map(iso);

describe("where clocks change", () => {
  test("a time that is left out runs at the moment of the change, and once", () => {
    // 2027-03-28, 01:00 UTC: 02:00 becomes 03:00.
    assert.deepEqual(next("30 2 * * *", "Europe/Berlin", "2027-03-26T12:00:00Z", 3), [
      "2027-03-27T01:30Z",
      "2027-03-28T01:00Z",
      "2027-03-29T00:30Z",
    ]);
    assert.deepEqual(next("30 2 * * *", "America/New_York", "2027-03-13T00:00:00Z", 3), [
      "2027-03-13T07:30Z",
      "2027-03-14T07:00Z",
      "2027-03-15T06:30Z",
    ]);
    // At midnight: 00:00 becomes 01:00.
    assert.deepEqual(next("30 0 * * *", "America/Santiago", "2026-09-04T12:00:00Z", 3), [
      "2026-09-05T04:30Z",
      "2026-09-06T04:00Z",
      "2026-09-07T03:30Z",
    ]);
    // By half an hour.
    assert.deepEqual(next("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T12:00:00Z", 3), [
      "2026-10-02T15:45Z",
      "2026-10-03T15:30Z",
      "2026-10-04T15:15Z",
    ]);
    // By two hours, from 01:00 to 03:00; several times that are left out are one run.
    assert.deepEqual(next("0,30 2,3 * * *", "Antarctica/Troll", "2027-03-27T12:00:00Z", 3), [
      "2027-03-28T01:00Z",
      "2027-03-28T01:30Z",
      "2027-03-29T00:00Z",
    ]);
  });

  test("a time that comes twice runs the first time only", () => {
    // 2026-10-25, 01:00 UTC: 03:00 becomes 02:00.
    assert.deepEqual(next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), [
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
    assert.deepEqual(next("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2), [
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z",
    ]);
    assert.deepEqual(next("45 1 * * *", "Australia/Lord_Howe", "2027-04-03T00:00:00Z", 2), [
      "2027-04-03T14:45Z",
      "2027-04-04T15:15Z",
    ]);
    assert.deepEqual(next("0,30 1,2,3 * * *", "Europe/Berlin", "2026-10-24T22:10:00Z", 7), [
      "2026-10-24T23:00Z",
      "2026-10-24T23:30Z",
      "2026-10-25T00:00Z",
      "2026-10-25T00:30Z",
      "2026-10-25T02:00Z",
      "2026-10-25T02:30Z",
      "2026-10-26T00:00Z",
    ]);
  });

  test("a line with `*` or a step goes on by the time that passes", () => {
    for (const [from, first] of [
      ["2026-10-24T22:59:00Z", ms("2026-10-24T23:00:00Z")],
      ["2027-03-27T22:59:00Z", ms("2027-03-27T23:00:00Z")],
    ] as const) {
      const slots = timings.preview(
        timing({ cron: "*/30 * * * *", timeZone: "Europe/Berlin" }),
        ms(from),
        12,
      );
      assert.deepEqual(
        slots,
        Array.from({ length: 12 }, (_, index) => first + index * 1_800_000),
      );
    }
  });

  test("a day that a zone left out has no slot", () => {
    assert.deepEqual(next("0 0 30 12 *", "Pacific/Apia", "2010-11-01T00:00:00Z", 2), [
      "2010-12-30T10:00Z",
      "2012-12-29T10:00Z",
    ]);
  });

  test("looking back finds the same slots as looking ahead", () => {
    for (const [cron, timeZone] of [
      ["30 2 * * *", "Europe/Berlin"],
      ["*/30 * * * *", "Europe/Berlin"],
      ["0,30 1,2,3 * * *", "Australia/Lord_Howe"],
      ["15 0 * * *", "America/Santiago"],
      ["30 1 * * 0", "America/New_York"],
    ] as const) {
      const one = timing({ cron, timeZone });
      for (const from of ["2026-09-05T12:00:00Z", "2026-10-24T12:00:00Z", "2027-03-27T12:00:00Z"]) {
        const ahead = timings.preview(one, ms(from), 12);
        const last = ahead.at(-1) ?? 0;
        assert.deepEqual(timings.latest(one, ms(from) + 1, last, 100), ahead, `${cron} ${timeZone} ${from}`);
        assert.deepEqual(timings.latest(one, ms(from) + 1, last + 999, 2), ahead.slice(-2));
        assert.deepEqual(timings.latest(one, ms(from) + 1, last - 1, 3), ahead.slice(-4, -1));
      }
    }
  });
});

test("seconds, every and at", () => {
  assert.deepEqual(
    timings
      .preview(timing({ cron: "*/20 * * * * *" }), ms("2026-01-01T00:00:00Z"), 3)
      .map((at) => at % 60_000),
    [20_000, 40_000, 0],
  );
  const every = timing({ everyMs: 7000, anchorMs: 1000 });
  assert.deepEqual(timings.preview(every, 0, 3), [8000, 15_000, 22_000]);
  assert.equal(timings.nextAfter(every, 8000), 15_000);
  assert.deepEqual(timings.latest(every, 0, 22_000, 2), [15_000, 22_000]);
  assert.deepEqual(timings.latest(every, 0, 7999, 5), []);
  const at = timing({ atMs: 5000 });
  assert.deepEqual(timings.preview(at, 0, 3), [5000]);
  assert.equal(timings.nextAfter(at, 5000), null);
  assert.deepEqual(timings.latest(at, 5000, 9000, 3), [5000]);
  assert.deepEqual(timings.preview(timing({ event: true }), 0, 3), []);
});

test("what means nothing is refused with the field and the reason", () => {
  const refused = (more: Partial<Timing>, field: string): void => {
    assert.throws(
      () => timings.check(timing(more), ms("2026-01-01T00:00:00Z")),
      (error) => {
        assert.ok(error instanceof HoldfastError && error.code === "invalid_input");
        const [issue] = error.details["issues"] as { readonly path: readonly string[] }[];
        assert.deepEqual(issue?.path, [field], error.message);
        return true;
      },
    );
  };
  refused({}, "cron");
  refused({ cron: "* * * * *", everyMs: 1000 }, "cron");
  refused({ event: true, atMs: ms("2027-01-01T00:00:00Z") }, "cron");
  for (const cron of ["", "* * * *", "61 * * * *", "0 0 0 0 0 0 2030", "hello", "? * * * *", "0 0 31 2 *"])
    refused({ cron }, "cron");
  // Without years, whatever the library that reads the rest would say.
  assert.throws(() => timings.check(timing({ cron: "0 0 0 1 1 * 2030" }), 0), /five fields .* or six/);
  refused({ cron: "* * * * *", timeZone: "Mars/Phobos" }, "time_zone");
  refused({ event: true, timeZone: "" }, "time_zone");
  refused({ atMs: ms("2025-12-31T23:59:59Z") }, "at");
  timings.check(timing({ cron: "0 0 29 2 *", timeZone: "Europe/Berlin" }), ms("2026-01-01T00:00:00Z"));
});

test("a moment as its zone's wall shows it", () => {
  assert.equal(localTime(ms("2026-10-25T00:30:00Z"), "Europe/Berlin"), "2026-10-25T02:30:00+02:00");
  assert.equal(localTime(ms("2026-10-25T01:30:00Z"), "Europe/Berlin"), "2026-10-25T02:30:00+01:00");
  assert.equal(localTime(ms("2026-01-01T00:00:00Z"), "UTC"), "2026-01-01T00:00:00+00:00");
  assert.equal(localTime(ms("2026-01-01T00:00:00Z"), "America/St_Johns"), "2025-12-31T20:30:00-03:30");
});
