import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { until } from "../../../../test/support/until.ts";
import type { Computer } from "../domain/computer.ts";
import { MemoryPressure, type PressureParts } from "./pressure.ts";

const mebibyte = 1024 * 1024;

interface Played {
  readonly id: string;
  state: "awake" | "asleep" | "stopped";
  readonly quietMs: number;
  sinceMs: number;
  /** What it gives back once it sleeps, and once it is stopped. */
  readonly cacheBytes: number;
  readonly heldBytes: number;
  readonly inUse?: boolean;
  readonly held?: boolean;
}

/** A host that is `shortBytes` short of its reserve, and computers on it. */
const play = (context: TestContext, shortBytes: number, computers: readonly Played[], warmBytes = 0) => {
  const did: string[] = [];
  const memory = {
    total_bytes: 8192 * mebibyte,
    available_bytes: 1024 * mebibyte - shortBytes,
    reserve_bytes: 1024 * mebibyte,
    reclaims: true,
  };
  let warm = warmBytes;
  const row = (one: Played): Computer =>
    ({
      id: one.id,
      state: one.state,
      desiredState: one.state,
      stateSinceMs: one.sinceMs,
    }) as unknown as Computer;
  const of = (id: string): Played => {
    const found = computers.find((one) => one.id === id);
    assert.ok(found);
    return found;
  };
  const parts = {
    supervisor: {
      call: async (method: string, params: { readonly computer_id?: string }) => {
        if (method === "info") return { memory: { ...memory } };
        const { id, cacheBytes } = of(params.computer_id ?? "");
        did.push(`reclaim ${id}`);
        memory.available_bytes += cacheBytes;
        return { reclaimed_bytes: cacheBytes };
      },
    },
    candidates: {
      awake: async () => computers.filter(({ state }) => state === "awake").map(row),
      asleep: async () =>
        computers
          .filter(({ state }) => state === "asleep")
          .toSorted((one, other) => one.sinceMs - other.sinceMs)
          .map(row),
      held: async () => new Set(computers.filter(({ held }) => held).map(({ id }) => id)),
    },
    resting: {
      rest: async ({ id }: Computer, desired: "asleep" | "stopped", cause: string) => {
        const one = of(id);
        if (one.inUse) return false;
        did.push(`${desired} ${id} ${cause}`);
        one.state = desired;
        one.sinceMs = 100;
        if (desired === "stopped") memory.available_bytes += one.heldBytes;
        return true;
      },
    },
    activity: { inUse: (id: string) => of(id).inUse ?? false, quietMs: (id: string) => of(id).quietMs },
    warm: {
      get waiting() {
        return warm > 0 ? 1 : 0;
      },
      giveUp: async () => {
        if (warm === 0) return false;
        did.push("give up warm cells");
        memory.available_bytes += warm;
        warm = 0;
        return true;
      },
    },
    reconciler: {
      nudge: (id: string) => void did.push(`again ${id}`),
      settle: async ({ id }: Computer) => row(of(id)),
    },
    clock: {
      sleep: (_ms: number, signal: AbortSignal) =>
        new Promise<void>((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("aborted"))),
        ),
    },
    logger: { warn: (message: string) => void did.push(message) },
  };
  const pressure = new MemoryPressure(parts as unknown as PressureParts);
  pressure.start();
  context.after(() => pressure.stop());
  return { pressure, did, memory };
};

const full = new HoldfastError("host_full", "no", { wanted_bytes: 128 * mebibyte });

const computer = (id: string, state: Played["state"], fields: Partial<Played> = {}): Played => ({
  id,
  state,
  quietMs: 60_000,
  sinceMs: 0,
  cacheBytes: 0,
  heldBytes: 100 * mebibyte,
  ...fields,
});

test("one thing after the other: warm cells, memory of sleepers, the idle longest asleep, the longest asleep stopped", async (context) => {
  const { pressure, did } = play(
    context,
    300 * mebibyte,
    [
      computer("short-idle", "awake", { quietMs: 20_000 }),
      computer("long-idle", "awake", { quietMs: 90_000 }),
      computer("old-sleeper", "asleep", { sinceMs: 1, cacheBytes: 50 * mebibyte }),
      computer("new-sleeper", "asleep", { sinceMs: 2, cacheBytes: 50 * mebibyte, heldBytes: 400 * mebibyte }),
    ],
    20 * mebibyte,
  );
  assert.equal(pressure.ask("waiting", full), true);
  await until("it is tried again", () => did.includes("again waiting"));
  assert.deepEqual(did, [
    "give up warm cells",
    "reclaim old-sleeper",
    "reclaim new-sleeper",
    "asleep long-idle memory_pressure",
    "reclaim long-idle",
    "stopped old-sleeper memory_pressure",
    "asleep short-idle memory_pressure",
    "reclaim short-idle",
    "stopped new-sleeper memory_pressure",
    "again waiting",
  ]);
});

test("it ends as soon as there is room", async (context) => {
  const { pressure, did } = play(context, -100 * mebibyte, [
    computer("idle", "awake", { cacheBytes: 60 * mebibyte }),
    computer("other", "awake", { quietMs: 30_000 }),
    computer("sleeper", "asleep"),
  ]);
  pressure.ask("waiting", full);
  await until("it is tried again", () => did.includes("again waiting"));
  assert.deepEqual(did, ["reclaim sleeper", "asleep idle memory_pressure", "reclaim idle", "again waiting"]);
});

test("what is in use, held or was used just now is left alone, and it is said once that nothing is left", async (context) => {
  const { pressure, did } = play(context, 500 * mebibyte, [
    computer("in-use", "awake", { inUse: true }),
    computer("held", "awake", { held: true }),
    computer("just-now", "awake", { quietMs: 2_000 }),
  ]);
  pressure.ask("one", full);
  await until("it is tried again", () => did.includes("again one"));
  pressure.ask("other", full);
  await until("it is tried again", () => did.includes("again other"));
  assert.deepEqual(did, [
    "the host is short of memory and nothing is left to take back",
    "again one",
    "again other",
  ]);
});

test("a host that is full of something else gives up warm cells, and otherwise nothing", async (context) => {
  const slots = new HoldfastError("host_full", "all id ranges are in use", { limit: 64 });
  const without = play(context, -900 * mebibyte, [computer("idle", "awake")]);
  assert.equal(without.pressure.ask("waiting", slots), false);
  const { pressure, did } = play(context, -900 * mebibyte, [computer("idle", "awake")], mebibyte);
  assert.equal(pressure.ask("waiting", slots), true);
  await until("it is tried again", () => did.includes("again waiting"));
  assert.deepEqual(did, ["give up warm cells", "again waiting"]);
});
