import assert from "node:assert/strict";
import { test } from "node:test";
import type { Computer } from "../domain/computer.ts";
import { due, workedBetween } from "./due.ts";

const nowMs = 1_000_000_000;
const minute = 60_000;
const computer = (fields: Partial<Computer>): Computer =>
  ({
    size: "small",
    sleepAfterMs: 10 * minute,
    stopAfterMs: 20 * minute,
    archiveAfterMs: 30 * minute,
    keepAwake: false,
    expiresAtMs: null,
    restoring: null,
    stateSinceMs: nowMs - 25 * minute,
    ...fields,
  }) as Computer;
const at = (state: Computer["state"], fields: Partial<Computer> = {}): Computer =>
  computer({ state, desiredState: state as Computer["desiredState"], ...fields });
const told = (row: Computer, quietMs = 60 * minute): string => {
  const what = due(row, nowMs, quietMs);
  return what ? `${what.desired} ${what.cause}` : "nothing";
};

test("idle: asleep; asleep for long: stopped; stopped for long: archived; each only after its own time", () => {
  assert.equal(told(at("awake")), "asleep idle");
  assert.equal(told(at("awake"), 10 * minute - 1), "nothing");
  assert.equal(told(at("asleep"), 0), "stopped long_asleep");
  assert.equal(told(at("asleep", { stateSinceMs: nowMs - 19 * minute })), "nothing");
  assert.equal(told(at("stopped")), "nothing");
  assert.equal(told(at("stopped", { stateSinceMs: nowMs - 30 * minute })), "archived long_stopped");
});

test("0 is never, and what is not given is as its size has it", () => {
  assert.equal(told(at("awake", { sleepAfterMs: 0 })), "nothing");
  assert.equal(told(at("asleep", { stopAfterMs: 0 })), "nothing");
  assert.equal(told(at("stopped", { archiveAfterMs: 0, stateSinceMs: 0 })), "nothing");
  assert.equal(told(at("awake", { sleepAfterMs: null }), 14 * minute), "nothing");
  assert.equal(told(at("awake", { sleepAfterMs: null }), 15 * minute), "asleep idle");
  assert.equal(told(at("awake", { sleepAfterMs: null, size: "large" }), 10 * minute), "asleep idle");
});

test("one that is kept awake stays as it is, and its lifetime ends all the same", () => {
  assert.equal(told(at("awake", { keepAwake: true })), "nothing");
  assert.equal(told(at("asleep", { keepAwake: true })), "nothing");
  for (const state of ["creating", "awake", "asleep", "stopped", "archived", "failed"] as const)
    assert.equal(
      told(computer({ state, desiredState: "awake", keepAwake: true, expiresAtMs: nowMs })),
      "destroyed expired",
    );
  assert.equal(told(at("awake", { expiresAtMs: nowMs + 1 }), 0), "nothing");
  assert.equal(told(at("stopped", { desiredState: "destroyed", expiresAtMs: 0 })), "nothing");
});

test("one that is on its way, or is being restored, is left alone", () => {
  assert.equal(told(at("awake", { desiredState: "stopped" })), "nothing");
  assert.equal(told(at("asleep", { desiredState: "awake" })), "nothing");
  const restoring = { id: "snp_b", snapshotId: "snp_a", definitions: false, afterwards: "stopped" } as const;
  assert.equal(told(at("stopped", { stateSinceMs: 0, restoring })), "nothing");
});

test("more than a twentieth of a processor is work; another cell's count tells nothing", () => {
  const before = { cpuMs: 1000, cellId: "cel_1", at: 0 };
  assert.equal(workedBetween(before, { cpuMs: 1500, cellId: "cel_1", at: 10_000 }), false);
  assert.equal(workedBetween(before, { cpuMs: 1501, cellId: "cel_1", at: 10_000 }), true);
  assert.equal(workedBetween(before, { cpuMs: 9000, cellId: "cel_2", at: 10_000 }), false);
});
