import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "./index.ts";

const at = "2026-01-01T00:00:00Z";
const run = {
  id: "run_1",
  state: "failed",
  exit: { kind: "exited", code: 7 },
  timed_out: false,
  slot: at,
  cause: "slot",
  attempt: 2,
  woke: "asleep",
  duration_ms: 1500,
  reason: "it exited with code 7\nand more",
  ended_at: at,
};
const schedule = {
  id: "sch_1",
  name: "nightly",
  computer: "cmp_1",
  state: "active",
  cron: "0 3 * * *",
  every_ms: null,
  at: null,
  time_zone: "Europe/Berlin",
  next_slot: at,
  version: "1",
  command: null,
  argv: ["./a", "b"],
  run_address: null,
  last_run: run,
};
const offer = {
  id: "off_1",
  child: "cmp_2",
  state: "open",
  entries: 2,
  bytes: 2048,
  paths: ["/work/a"],
  note: "done",
  digest: "d1",
};

test("schedules and runs read as what happened and what to do next", () => {
  assert.equal(
    present("schedule.get", schedule, {}),
    [
      "nightly (sch_1) on cmp_1 is active, cron 0 3 * * * in Europe/Berlin, next at 2026-01-01T00:00:00Z, version 1",
      "  command: ./a b",
      "  last run: run_1 failed, exit code 7, for 2026-01-01T00:00:00Z, attempt 2, it woke the computer, which was asleep, took 1.5 s, it exited with code 7 ⏎ and more",
    ].join("\n"),
  );
  assert.match(present("run.get", { ...run, state: "running", ended_at: null }, {}), /run_get with wait_ms/);
  assert.match(present("run.get", run, {}), /run_output shows/);
  assert.match(
    present(
      "schedule.create",
      { ...schedule, cron: null, event_key: "hfe_1", run_address: "http://x/fire" },
      {},
    ),
    /by event[\s\S]*POST to http:\/\/x\/fire[\s\S]*shown this once.*: hfe_1$/,
  );
  const output = { text: "out\n", truncated_bytes: 3, more: true, next_cursor: 9 };
  assert.match(present("run.output", output, {}), /^\(3 bytes[^]*out\n[^]*cursor 9\.$/);
  assert.equal(present("run.list", { runs: [], next_cursor: null }, {}), "No runs.");
});

test("an open offer says what it would change and how to take exactly that", () => {
  const differences = [
    { path: "/work/a", change: "changed", size_before: 1, size_after: 2048 },
    { path: "/work/b", change: "removed", size_before: null, size_after: null },
  ];
  const text = present(
    "offer.diff",
    { offer, differences, text: "+new", truncated: false, next_cursor: null },
    {},
  );
  assert.equal(
    text,
    [
      "off_1 from cmp_2 is open, 2 files (2.0 KiB): /work/a: done",
      "changed /work/a, 1 bytes -> 2.0 KiB",
      "removed /work/b",
      "+new",
      "To take exactly this: offer_accept with digest d1.",
    ].join("\n"),
  );
  assert.match(present("offer.accept", { offer, commit: "c0ffee" }, {}), /project_deploy runs it/);
});
