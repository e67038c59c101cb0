import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HoldfastError, operations } from "@holdfast/contract";
import type { ScheduleRow } from "../store/schedules.ts";
import { changesOf, type Declared, declaredOf, definedAgain, definedOf } from "./definition.ts";
import { Timings } from "./timing.ts";

const timings = new Timings();
const now = Date.parse("2026-06-01T12:00:00Z");
const declare = (fields: Readonly<Record<string, unknown>>): Declared =>
  operations["schedule.create"].input.parse({ name: "any", computer: "box", command: "true", ...fields });
const row = (fields: Readonly<Record<string, unknown>>): ScheduleRow =>
  ({ name: "any", state: "active", ...definedOf(timings, declare(fields), now) }) as ScheduleRow;
const change = (of: ScheduleRow, changes: Readonly<Record<string, unknown>>) =>
  changesOf(
    timings,
    of,
    operations["schedule.update"].input.parse({ schedule: "any", ...changes }),
    now + 5000,
  );
const field = (name: string) => (error: unknown) => {
  assert.ok(error instanceof HoldfastError && error.code === "invalid_input", String(error));
  const [issue] = error.details["issues"] as { readonly path: readonly string[] }[];
  assert.deepEqual(issue?.path, [name], error.message);
  return true;
};

describe("a change", () => {
  test("leaves what is not given as it is; another timing takes the old one's place and counts from now", () => {
    const before = row({ cron: "0  3 * * *", time_zone: "Europe/Berlin", retries: 3 });
    assert.equal(before.cron, "0 3 * * *");
    const named = change(before, { overlap: "queue" });
    assert.deepEqual(named, { defined: { ...declaredRow(before), overlap: "queue" }, timed: false });
    const timed = change(before, { every_ms: 60_000 });
    assert.deepEqual(
      [
        timed.timed,
        timed.defined.cron,
        timed.defined.every_ms,
        timed.defined.anchor_ms,
        timed.defined.retries,
      ],
      [true, null, 60_000, now + 5000, 3],
    );
    assert.equal(change(before, { time_zone: "Asia/Tokyo" }).timed, true);
    assert.equal(change(before, { time_zone: "Europe/Berlin" }).timed, false);
  });

  test("of the command replaces argv too; of the environment only that", () => {
    const before = row({
      every_ms: 5000,
      command: undefined,
      argv: ["a", "b"],
      environment: { A: "1" },
      cwd: "/tmp",
    });
    assert.deepEqual(change(before, { command: "c" }).defined.command, {
      command: "c",
      cwd: "/tmp",
      environment: { A: "1" },
      user: { uid: 0, gid: 0 },
    });
    const { command } = change(before, { environment: { B: "2" } }).defined;
    assert.deepEqual([command.argv, command.environment], [["a", "b"], { B: "2" }]);
  });

  test("that makes nothing of it is refused with its field", () => {
    const before = row({ every_ms: 5000 });
    assert.throws(() => change(before, { cron: "* * * * *", at: "2027-01-01T00:00:00Z" }), field("cron"));
    assert.throws(() => change(before, { command: "a", argv: ["b"] }), field("command"));
    assert.throws(() => change(before, { event: true }), field("event"));
    assert.throws(() => change(row({ event: true }), { every_ms: 5000 }), field("event"));
    assert.throws(() => change(before, { at: "2026-06-01T12:00:00Z" }), field("at"));
    assert.throws(() => change(before, { command: "x".repeat(70_000) }), field("command"));
    // One whose slot has passed may still get another command, and another time.
    const over = row({ at: "2026-06-01T12:00:01Z" });
    assert.equal(change(over, { command: "c" }).timed, false);
    assert.equal(change(over, { at: "2026-06-02T12:00:00Z" }).timed, true);
  });
});

describe("what a snapshot or a file carries", () => {
  test("comes back as it was, its pause too", () => {
    for (const fields of [
      { cron: "*/5 * * * *", time_zone: "Europe/Berlin", missed: "run_each", environment: { A: "1" } },
      { every_ms: 5000, command: undefined, argv: ["true"], place: "fork" },
      { event: true },
      { at: "2026-06-01T12:00:01Z" },
    ]) {
      const before = row(fields);
      const carried = JSON.parse(JSON.stringify({ ...declaredOf(before), paused: true })) as Record<
        string,
        unknown
      >;
      // Long after: a time that has passed is no fault.
      const later = now + 1e9;
      const again = definedAgain(timings, { name: "any", project: null, definition: carried }, later);
      assert.deepEqual(again, { defined: { ...declaredRow(before), anchor_ms: later }, paused: true });
    }
  });

  test("is a stranger's word: what no schedule can be is refused", () => {
    const carry = (definition: Readonly<Record<string, unknown>>, name = "any") =>
      definedAgain(timings, { name, project: null, definition }, now);
    const good = { every_ms: 5000, command: "true" };
    assert.throws(() => carry(good, "Not A Name"), field("schedules"));
    assert.throws(() => carry({ ...good, every_ms: -1 }), field("schedules"));
    assert.throws(() => carry({ ...good, user: { uid: -1, gid: 0 } }), field("schedules"));
    assert.throws(() => carry({ command: "true", cron: "? * * * *" }), field("cron"));
    assert.throws(() => carry({ every_ms: 5000 }), field("command"));
    assert.throws(() => carry({ ...good, command: "x".repeat(70_000) }), field("command"));
    assert.equal("surprise" in carry({ ...good, surprise: 1 }).defined, false);
  });
});

/** The columns of a row that say when and what it runs. */
const declaredRow = ({ name: _name, state: _state, ...defined }: ScheduleRow) => defined;
