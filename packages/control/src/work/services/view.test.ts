import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentServiceState } from "@holdfast/contract";
import { reasonOf } from "./view.ts";

const state = (fields: Partial<AgentServiceState>): AgentServiceState => ({
  id: "svc",
  name: "web",
  state: "backoff",
  reason: null,
  pid: null,
  restarts: 1,
  exit: null,
  started_at_ms: null,
  ready_at_ms: null,
  next_start_at_ms: null,
  output_bytes: 0,
  ...fields,
});

test("a service that does not run because it ended says how, unless its agent says more", () => {
  const exited = { kind: "exited", code: 1 } as const;
  assert.equal(reasonOf(state({ exit: exited })), "exited with code 1");
  assert.equal(
    reasonOf(state({ state: "failed", exit: { kind: "signaled", signal: 9 } })),
    "killed by signal 9",
  );
  assert.equal(reasonOf(state({ exit: { kind: "lost" } })), "ended, and how is not known");
  assert.equal(reasonOf(state({ exit: exited, reason: "It is not alive" })), "It is not alive");
  assert.equal(reasonOf(state({ exit: null })), null);
  for (const other of ["ready", "stopped", "starting"] as const)
    assert.equal(reasonOf(state({ state: other, exit: exited })), null, other);
});
