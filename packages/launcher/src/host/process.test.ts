import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { identify, isAlive, signal } from "./process.ts";

test("a process is itself only with its own start time", async () => {
  const child = spawn("sleep", ["60"]);
  try {
    const identity = identify(child.pid ?? 0);
    assert.ok(identity && isAlive(identity));
    const earlier = { ...identity, start_time: identity.start_time - 1 };
    assert.equal(isAlive(earlier), false);
    assert.equal(signal(earlier, "SIGKILL"), false);
    const ended = once(child, "exit");
    assert.equal(signal(identity, "SIGKILL"), true);
    await ended;
    assert.equal(isAlive(identity), false);
  } finally {
    child.kill("SIGKILL");
  }
});
