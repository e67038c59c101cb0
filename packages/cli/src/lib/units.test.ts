import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../errors.ts";
import { formatAge, formatBytes, formatDuration, parseDuration, parseSize } from "./units.ts";

test("times and sizes carry their units", () => {
  assert.deepEqual(
    ["500ms", "30s", "1.5m", "2h", "7d", "1h30m", "0"].map((text) => parseDuration(text, "--wait")),
    [500, 30_000, 90_000, 7_200_000, 604_800_000, 5_400_000, 0],
  );
  assert.deepEqual(
    ["4096", "64KiB", "1.5MiB", "2G"].map((text) => parseSize(text, "--max")),
    [4096, 65_536, 1_572_864, 2_147_483_648],
  );
  for (const text of ["30", "", "s", "-5s", "5 s", "1e3s", "1h 30m", "1h30"])
    assert.throws(() => parseDuration(text, "--wait"), CliError, text);
  for (const text of ["", "-1", "5 XiB", "KiB"])
    assert.throws(() => parseSize(text, "--max"), CliError, text);
});

test("a time is told as it may be given", () => {
  const told = ["250ms", "1.5s", "15m", "24h", "1h30m", "2m3.456s", "36h", "2d", "30d", "0s"];
  assert.deepEqual(
    told.map((text) => formatDuration(parseDuration(text, "--wait"))),
    told,
  );
  assert.equal(formatDuration(90.4), "90ms");
});

test("people read words", () => {
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1536), "1.5 KiB");
  assert.equal(formatAge("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:03:10Z")), "3 min ago");
  const later = (time: string): string => formatAge(time, Date.parse("2026-01-01T00:00:00Z"));
  assert.deepEqual(["2026-01-31T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:00:00Z"].map(later), [
    "in 30 days",
    "in 5 min",
    "now",
  ]);
});
