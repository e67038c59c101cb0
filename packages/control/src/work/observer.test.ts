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
  const clock = { sleep: () => Promise.resolve() };
  const observer = new WorkObserver({
    agents: { of: () => ({ plain }), forget: () => {} },
    processes: { compare: () => Promise.resolve() },
    supervisor: { call: usage },
    clock,
    logger,
  } as unknown as WorkObserverParts);
  await observer.stopping(computer);
  return asked;
};

test("services end in good order also when it cannot be told how crowded the computer is", async () => {
  const asked = await stopped(() => Promise.reject(new HoldfastError("timed_out", "it took too long")));
  assert.deepEqual(asked, [["services.shutdown", { grace_ms: limits.stopGraceMs }]]);
});

const shutdown = (graceMs: number) => [["services.shutdown", { grace_ms: graceMs }]];
const roomy = { pids: 5, pids_limit: 512, memory_bytes: 10, memory_limit_bytes: 100, oom_kills: 3 };
/** Answers one after another, the last one ever after. */
const answers = (...usages: readonly object[]) => {
  let next = 0;
  return () => Promise.resolve({ usage: usages[Math.min(next++, usages.length - 1)] });
};

test("a computer at its limit of processes is given little time", async () => {
  assert.deepEqual(await stopped(answers({ ...roomy, pids: 500 })), shutdown(1000));
  // Between two crests of a fork bomb; and simply many.
  const trough = { ...roomy, pids: 295 };
  assert.deepEqual(await stopped(answers(trough, trough, trough, { ...roomy, pids: 512 })), shutdown(1000));
  assert.deepEqual(await stopped(answers(trough)), shutdown(limits.stopGraceMs));
});

test("a computer in which the kernel kills for memory is given little time; one whose memory is only full is not", async () => {
  const filled = { ...roomy, memory_bytes: 99 };
  assert.deepEqual(await stopped(answers(filled, { ...filled, oom_kills: 4 })), shutdown(1000));
  assert.deepEqual(await stopped(answers(filled)), shutdown(limits.stopGraceMs));
  assert.deepEqual(await stopped(answers(roomy, { ...roomy, oom_kills: 4 })), shutdown(limits.stopGraceMs));
});
