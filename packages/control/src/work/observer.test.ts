import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { WorkObserver, type WorkObserverParts } from "./observer.ts";

const computer = { id: "cmp_00000000000000000000" } as Computer;

/** With what grace the computer's agent was told to end everything. It is done when it has no time left, or after so many `looks` at it. */
const graces = async (usage: () => Promise<unknown>, looks = 6): Promise<readonly number[]> => {
  const asked: number[] = [];
  const done = Promise.withResolvers<object>();
  const plain = (name: string, { grace_ms: graceMs }: { readonly grace_ms: number }): Promise<object> => {
    assert.equal(name, "services.shutdown");
    asked.push(graceMs);
    return graceMs === 0 ? Promise.resolve({}) : done.promise;
  };
  let looked = 0;
  const call = (): Promise<unknown> => {
    looked += 1;
    if (looked > looks) done.resolve({});
    return usage();
  };
  const observer = new WorkObserver({
    agents: { of: () => ({ plain }), forget: () => {} },
    processes: { compare: () => Promise.resolve() },
    supervisor: { call },
    clock: { sleep: async (_ms: number, signal: AbortSignal) => signal.throwIfAborted() },
    logger: { warn: () => {} },
  } as unknown as WorkObserverParts);
  await observer.stopping(computer);
  return asked;
};

const whole = [limits.stopGraceMs];
const hurried = [limits.stopGraceMs, 0];
const seen = { refused_forks: 5, oom_kills: 3 };
/** Answers one after another, the last one ever after. */
const answers = (...usages: readonly object[]) => {
  let next = 0;
  return () => Promise.resolve({ usage: usages[Math.min(next++, usages.length - 1)] });
};

test("services end in good order also when it cannot be told how crowded the computer is", async () => {
  const away = () => Promise.reject(new HoldfastError("timed_out", "it took too long"));
  assert.deepEqual(await graces(away, 0), whole);
});

test("where processes are refused the rest of the grace is taken back; what was refused before is forgotten", async () => {
  const refused = { ...seen, refused_forks: 6 };
  assert.deepEqual(await graces(answers(seen, refused)), hurried);
  // Between two crests of a fork bomb.
  assert.deepEqual(await graces(answers(seen, seen, seen, refused)), hurried);
  assert.deepEqual(await graces(answers(seen)), whole);
});

test("where the kernel kills for memory the rest of the grace is taken back", async () => {
  assert.deepEqual(await graces(answers(seen, { ...seen, oom_kills: 4 })), hurried);
});
