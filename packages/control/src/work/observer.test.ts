import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { WorkObserver, type WorkObserverParts } from "./observer.ts";

const computer = { id: "cmp_00000000000000000000" } as Computer;

/** What the agent of the computer was asked for, with the grace it was told. */
const stopped = async (usage: () => Promise<unknown>): Promise<readonly unknown[]> => {
  const asked: unknown[] = [];
  const plain = (name: string, fields: object): Promise<object> => {
    asked.push([name, fields]);
    return Promise.resolve({});
  };
  const logger = { warn: () => {} };
  const observer = new WorkObserver({
    agents: { of: () => ({ plain }), forget: () => {} },
    processes: { compare: () => Promise.resolve() },
    supervisor: { call: usage },
    logger,
  } as unknown as WorkObserverParts);
  await observer.stopping(computer);
  return asked;
};

test("services end in good order also when it cannot be told how crowded the computer is", async () => {
  const asked = await stopped(() => Promise.reject(new HoldfastError("timed_out", "it took too long")));
  assert.deepEqual(asked, [["services.shutdown", { grace_ms: limits.stopGraceMs }]]);
});

test("a computer at its limit of processes is given little time", async () => {
  const asked = await stopped(() => Promise.resolve({ usage: { pids: 500, pids_limit: 512 } }));
  assert.deepEqual(asked, [["services.shutdown", { grace_ms: 1000 }]]);
});
