import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../errors.ts";
import { formatAge, formatBytes, parseDuration, parseSize } from "./units.ts";

test("times and sizes carry their units", () => {
  assert.deepEqual(
    ["500ms", "30s", "1.5m", "2h", "7d"].map((text) => parseDuration(text, "--wait")),
    [500, 30_000, 90_000, 7_200_000, 604_800_000],
  );
  assert.deepEqual(
    ["4096", "64KiB", "1.5MiB", "2G"].map((text) => parseSize(text, "--max")),
    [4096, 65_536, 1_572_864, 2_147_483_648],
  );
  for (const text of ["30", "", "s", "-5s", "5 s", "1e3s"])
    assert.throws(() => parseDuration(text, "--wait"), CliError, text);
  for (const text of ["", "-1", "5 XiB", "KiB"])
    assert.throws(() => parseSize(text, "--max"), CliError, text);
});

test("people read words", () => {
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1536), "1.5 KiB");
  assert.equal(formatAge("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:03:10Z")), "3 min ago");
  const later = (time: string): string => formatAge(time, Date.parse("2026-01-01T00:00:00Z"));
  assert.deepEqual(["2026-01-31T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:00:00Z"].map(later), [
    "in 30 days",
    "in 5 min",
    "0 s ago",
  ]);
});
