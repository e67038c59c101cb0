import assert from "node:assert/strict";
import { test } from "node:test";
import { absence } from "./find-instance.ts";

test("who asks for an instance that is not there is told which are", () => {
  assert.match(absence("default", []), /`holdfast up` makes it/);
  assert.match(
    absence("default", ["second", "third"]),
    /Those here: second, third\. Choose with --instance second/,
  );
});
