import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdmission, parseMemory, reserveBytes } from "./admission.ts";
import { remainingLease } from "./cell.ts";

const minute = 60_000;

test("what is left of a lease survives a restart, within bounds", () => {
  const now = 1_000_000;
  assert.equal(remainingLease(now + 5 * minute, now, 10 * minute), 5 * minute);
  assert.equal(remainingLease(now - minute, now, 10 * minute), minute, "time for control to renew");
  assert.equal(
    remainingLease(now + 90 * minute, now, 10 * minute),
    10 * minute,
    "a clock set back lengthens nothing",
  );
});

const gibibyte = 1024 ** 3;

test("a start is admitted against what is free and already promised", async () => {
  const admission = createAdmission(async () => ({
    totalBytes: 8 * gibibyte,
    availableBytes: 1.2 * gibibyte,
  }));
  assert.equal(await admission.admit(gibibyte, async () => "ran"), "ran");
  await assert.rejects(
    admission.admit(4 * gibibyte, async () => "ran"),
    { code: "host_full" },
  );
  await admission.admit(2 * gibibyte, async () => {
    await assert.rejects(
      admission.admit(2 * gibibyte, async () => "ran"),
      { code: "host_full" },
    );
  });
  assert.equal(await admission.admit(2 * gibibyte, async () => "ran"), "ran", "a promise ends with its work");
});

test("the reserve is a tenth within bounds", () => {
  assert.equal(reserveBytes(gibibyte), gibibyte / 4);
  assert.equal(reserveBytes(10 * gibibyte), gibibyte);
  assert.equal(reserveBytes(100 * gibibyte), 2 * gibibyte);
});

test("memory that cannot be read admits nothing", () => {
  assert.equal(parseMemory("MemTotal:  8 kB\nMemAvailable:    4 kB\n").availableBytes, 4096);
  assert.throws(() => parseMemory("MemTotal:  8 kB\n"), /MemAvailable/);
});
