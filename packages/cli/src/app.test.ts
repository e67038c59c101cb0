import assert from "node:assert/strict";
import { test } from "node:test";
import { noContext } from "./app.ts";

const empty = { version: 1, current: "default", contexts: {} } as const;

test("whoever has no context is told whether one runs here all the same, and how to get to it", () => {
  assert.match(noContext(empty, "/config.json", []).next, /holdfast up/);
  const { message, next } = noContext(empty, "/config.json", ["second"]);
  assert.match(message, /second runs on this machine/);
  assert.match(next, /sudo holdfast/);
  assert.match(next, /keys create <name> --save <file>/);
  assert.match(next, /contexts add second/);
});
