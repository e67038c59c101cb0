import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Computer } from "../domain/computer.ts";
import { Reconciler, type ReconcilerParts } from "./reconciler.ts";

/** A reconciler of computers that want to stop. `moving` are those whose move is under way; `end` ends one. */
const reconciling = () => {
  let now = 0;
  const moving = new Map<string, () => void>();
  const stopped = new Set<string>();
  const rowOf = (id: string) => ({
    id,
    state: stopped.has(id) ? "stopped" : "awake",
    desired_state: "stopped",
    archive_digest: null,
    restore_id: null,
  });
  const db = {
    selectFrom: () => db,
    selectAll: () => db,
    where: (_column: string, _is: string, id: string) => ({
      executeTakeFirst: () => Promise.resolve(rowOf(id)),
    }),
  };
  const running = new Map<string, () => void>();
  const make = (_move: string, { id }: Computer, _seen: unknown, runs: (computer: Computer) => void) =>
    new Promise((resolve) => {
      running.set(id, () => runs({ id, state: "awake" } as Computer));
      moving.set(id, () => {
        moving.delete(id);
        stopped.add(id);
        resolve({ computer: { id, state: "stopped", desiredState: "stopped" } });
      });
    });
  const reconciler = new Reconciler({
    store: { db },
    moves: { make },
    activity: { isLeaving: () => false, stays: () => {} },
    supervisor: { call: () => Promise.resolve({ cells: [] }) },
    clock: { now: () => 0, monotonic: () => now, after: () => () => {}, sleep: () => Promise.resolve() },
    logger: { warn: () => {} },
  } as unknown as ReconcilerParts);
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  };
  return {
    moving,
    running,
    reconciler,
    settle,
    ask: async (ids: readonly string[]) => {
      for (const id of ids) {
        stopped.delete(id);
        reconciler.nudge(id, { urgent: true });
      }
      await settle();
    },
    endAll: async (tookMs: number) => {
      now += tookMs;
      for (const end of moving.values()) end();
      await settle();
    },
  };
};

const named = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);

test("cells that do not answer share half of the places; the others are moved meanwhile", async () => {
  const { ask, moving, endAll } = reconciling();
  const slow = named("slow", 24);
  await ask(slow);
  assert.equal(moving.size, 16);
  // All of them have taken a minute once.
  while (moving.size > 0) await endAll(60_000);
  await ask(slow);
  assert.equal(moving.size, 8);
  const others = named("other", 8);
  await ask(others);
  for (const id of others) assert.ok(moving.has(id), id);
  assert.equal(moving.size, 16);
  while (moving.size > 0) await endAll(10);
  await ask(slow);
  assert.equal(moving.size, 16, "those whose last move was quick are among the others again");
});

test("who needs a cell alone hears that it runs before it is written down; nobody else does", async () => {
  const { reconciler, running, settle, endAll } = reconciling();
  const heard: string[] = [];
  const wait = (id: string, early: boolean): void => {
    const { signal } = new AbortController();
    void reconciler
      .settle({ id } as Computer, (_row, verified) => verified, { waitMs: 1000, signal, early })
      .then(({ state }) => heard.push(`${id} ${state}`));
  };
  wait("visit", true);
  wait("caller", false);
  await settle();
  for (const runs of running.values()) runs();
  await settle();
  assert.deepEqual(heard, ["visit awake"]);
  await endAll(10);
  assert.deepEqual(heard, ["visit awake", "caller stopped"]);
});

test("who waits hears of no row from before it waited: what a move that was under way has written may be older than its wish", async () => {
  const { reconciler, settle, ask, endAll } = reconciling();
  await ask(["one"]);
  const heard: Computer[] = [];
  const { signal } = new AbortController();
  const waiting = reconciler.settle(
    { id: "one" } as Computer,
    (row) => {
      heard.push(row);
      // One that was read has all columns; what the move wrote has three here.
      return "name" in row;
    },
    { waitMs: 1000, signal },
  );
  await settle();
  await endAll(10);
  assert.equal((await waiting).state, "stopped");
  assert.ok(heard.every((row) => "name" in row));
});
