import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { AgentUnreachable } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import type { OperationContext } from "../../domain/handler.ts";
import type { ProcessRow } from "../../store/processes.ts";
import { type LaunchParts, Launcher } from "./launch.ts";
import type { ExecParams } from "./spec.ts";

const computer = { id: "cmp_00000000000000000000", name: "box", environment: {} } as Computer;
const row = {
  id: "prc_00000000000000000000",
  state: "starting",
  command: "true",
  exit: null,
  started_at_ms: 0,
  ended_at_ms: null,
} as ProcessRow;
const params = { argv: ["true"], wait_ms: 1000, max_output_bytes: 1000, encoding: "text" } as ExecParams;

/** An exec whose first call ends with `first` and for which no other cell can be had; `deleted` once its row was taken back. */
const exec = async (first: Error): Promise<{ answer: unknown; deleted: boolean }> => {
  let deleted = false;
  const statement = { where: () => statement, execute: () => Promise.resolve([]) };
  const launcher = new Launcher({
    agents: { of: () => ({ download: () => Promise.reject(first) }) },
    computers: {
      activity: { use: () => () => {} },
      reach: () => Promise.resolve(computer),
      reachAgain: () => Promise.reject(new HoldfastError("host_full", "the host has no memory for it")),
    },
    store: {
      db: {
        deleteFrom: () => {
          deleted = true;
          return statement;
        },
      },
    },
    clock: { now: () => 0, monotonic: () => 0 },
    crashPoint: () => {},
  } as unknown as LaunchParts);
  const context = { signal: new AbortController().signal } as OperationContext;
  const answer = await launcher
    .exec(context, params, { target: row.id, computer, row })
    .then(({ output }) => output.process.state)
    .catch((error: unknown) => (error instanceof HoldfastError ? error.code : error));
  return { answer, deleted };
};

test("a command that may have run keeps its row when its computer cannot be reached again", async () => {
  assert.deepEqual(await exec(new AgentUnreachable("the connection broke", true)), {
    answer: "starting",
    deleted: false,
  });
});

test("a command that surely never ran is taken back, and says why", async () => {
  assert.deepEqual(await exec(new AgentUnreachable("nobody greets", false)), {
    answer: "host_full",
    deleted: true,
  });
});
