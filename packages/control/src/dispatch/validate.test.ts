import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, limits, type Operation, operations } from "@holdfast/contract";
import type { DispatchRequest } from "../domain/dispatch.ts";
import { validate } from "./validate.ts";

const request = {} as DispatchRequest;
const refusal = (operation: Operation, input: unknown, asked = request): HoldfastError => {
  try {
    validate(operation, asked, input);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error("it was not refused");
};

test("an input of hundreds of thousands of values is refused before each of them is judged", () => {
  const environment = Object.fromEntries(Array.from({ length: 350_000 }, (_, index) => [`${index} `, ""]));
  const crowded = refusal(operations["computer.create"], { name: "box", environment });
  assert.equal(crowded.code, "invalid_input");
  assert.equal(crowded.details["limit"], 20_000);
  assert.equal(crowded.details["issues"], undefined);
  const lists = Array.from({ length: 300 }, () => Array.from({ length: 100 }, () => ({})));
  assert.equal(refusal(operations["file.edit"], { edits: lists }).details["limit"], 20_000);
});

test("as much as an operation takes is taken", () => {
  const variables = limits.environmentVariables;
  const environment = Object.fromEntries(Array.from({ length: variables }, (_, index) => [`V${index}`, "x"]));
  const argv = Array.from({ length: limits.argumentsCount }, () => "x");
  const params = validate(operations["process.exec"], request, { computer: "box", argv, environment });
  assert.ok("argv" in params && params.argv?.length === limits.argumentsCount);
});

test("an environment is bounded as a whole", () => {
  const value = "x".repeat(limits.environmentValueBytes);
  const environment = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`V${index}`, value]));
  const refused = refusal(operations["computer.create"], { name: "box", environment });
  assert.match(refused.message, /together/);
  const { V8: _one, ...eight } = environment;
  const { V7: _two, ...seven } = eight;
  validate(operations["computer.create"], request, { name: "box", environment: seven });
});

test("a condition is looked at or refused, never left out", () => {
  const asked = { ifMatch: "3" } as DispatchRequest;
  const update = { computer: "box", description: "x" };
  const params = validate(operations["computer.update"], asked, update);
  assert.ok("if_match" in params && params.if_match === "3");
  assert.match(refusal(operations["computer.update"], { ...update, if_match: "4" }, asked).message, /differ/);
  validate(operations["computer.update"], asked, { ...update, if_match: "3" });
  assert.match(
    refusal(operations["computer.destroy"], { computer: "box" }, asked).message,
    /takes no If-Match/,
  );
});
