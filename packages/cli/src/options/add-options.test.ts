import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "@holdfast/contract";
import { Command } from "commander";
import { addOptions, inputOf } from "./add-options.ts";
import { fieldsOf } from "./fields.ts";

test("a default is told once", () => {
  for (const operation of Object.values(operations)) {
    const command = new Command("verb");
    addOptions(command, fieldsOf(operation, []), operation.input.shape);
    for (const { description } of command.options)
      assert.ok(description.split(/\bdefault\b/).length <= 2, `${operation.name}: ${description}`);
  }
});

const given = (name: "computer.update" | "schedule.create", ...words: readonly string[]) => {
  const operation = operations[name];
  const command = new Command("verb").exitOverride();
  const fields = fieldsOf(operation, ["argv"]);
  addOptions(command, fields, operation.input.shape);
  command.parse(words, { from: "user" });
  return inputOf(fields, command.opts(), (key) => command.getOptionValueSource(key) === "cli");
};

test("every field that is a time takes one with its unit, and 0 where that means never", () => {
  assert.deepEqual(
    given("computer.update", "--sleep-after", "15m", "--stop-after", "24h", "--archive-after", "0"),
    {
      sleep_after_ms: 900_000,
      stop_after_ms: 86_400_000,
      archive_after_ms: 0,
    },
  );
  assert.deepEqual(given("schedule.create", "--every", "1h30m", "--timeout", "90s"), {
    every_ms: 5_400_000,
    timeout_ms: 90_000,
  });
  for (const operation of Object.values(operations)) {
    const numbers = fieldsOf(operation, []).filter(({ path }) => path.at(-1)?.endsWith("_ms"));
    for (const { kind, flag } of numbers) assert.equal(kind, "duration", `${operation.name} --${flag}`);
  }
});

test("what an update may find on can be turned off, and is left alone otherwise", () => {
  assert.deepEqual(given("computer.update", "--no-keep-awake"), { keep_awake: false });
  assert.deepEqual(given("computer.update", "--keep-awake"), { keep_awake: true });
  assert.deepEqual(given("computer.update"), {});
});
