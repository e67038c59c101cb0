import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "@holdfast/contract";
import { Command } from "commander";
import { addOptions } from "./add-options.ts";
import { fieldsOf } from "./fields.ts";

test("a default is told once", () => {
  for (const operation of Object.values(operations)) {
    const command = new Command("verb");
    addOptions(command, fieldsOf(operation, []), operation.input.shape);
    for (const { description } of command.options)
      assert.ok(description.split(/\bdefault\b/).length <= 2, `${operation.name}: ${description}`);
  }
});
