import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastApiError } from "@holdfast/sdk";
import { explain, moreOf } from "./errors.ts";

const told = (detail: string, details: Readonly<Record<string, unknown>>, remedy: string) =>
  explain(new HoldfastApiError({ code: "invalid_input", status: 400, detail, details, remedy }, null));

test("details are told once, in words", () => {
  assert.deepEqual(moreOf(told("there is no computer nobox", { computer: "nobox" }, "List them.")), []);
  assert.deepEqual(moreOf(told("too many", { limit: 5, owned_by: ["a", "b"] }, "Stop some.")), [
    "limit: 5",
    "owned by: a, b",
  ]);
});

test("causes are sentences, names stay as they are written, and remedies point to what stands above", () => {
  const refused = told(
    "there is none",
    {},
    "Correct the fields named in `details.issues` and send it again.",
  );
  assert.equal(refused.cause, "There is none.");
  assert.equal(refused.next, "Correct the fields named above and send it again.");
  assert.equal(
    told("computer.get: no such id", {}, "See `details.reason`.").cause,
    "computer.get: no such id.",
  );
  assert.equal(told("box has a project board already", {}, "").cause, "box has a project board already.");
  assert.equal(told("no", {}, "See `details.reason`.").next, "See what is said above.");
});
