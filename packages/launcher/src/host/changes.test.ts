import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "@holdfast/kit";
import { watchChanges } from "./changes.ts";

const anHourMs = 3_600_000;

const watched = async (context: TestContext) => {
  const directory = await mkdtemp(join(tmpdir(), "hf-test-changes-"));
  const path = join(directory, "record.json");
  await writeFile(path, "running\n");
  const changes = watchChanges(path, systemClock);
  context.after(async () => {
    changes.close();
    await rm(directory, { recursive: true });
  });
  return { path, changes };
};

test("a change is told at once, also one that came before it was waited for", {
  timeout: 5000,
}, async (context) => {
  const { path, changes } = await watched(context);
  // Aborted when the test is out of time.
  const { signal } = context;
  const told = changes.next(anHourMs, signal);
  await writeFile(path, "ended\n");
  await told;
  await writeFile(path, "ended otherwise\n");
  await changes.next(anHourMs, signal);
});

test("without a change it lasts its time, and ends with the signal", { timeout: 5000 }, async (context) => {
  const { changes } = await watched(context);
  const stop = new AbortController();
  await changes.next(1, stop.signal);
  const cut = changes.next(anHourMs, stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(cut, /stopped/);
});
