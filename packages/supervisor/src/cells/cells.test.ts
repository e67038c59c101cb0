import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { createLogger, type Clock } from "@holdfast/kit";
import { until } from "../../../../test/support/until.ts";
import { placesOf } from "../lib/places.ts";
import { createEvents } from "./events.ts";
import { openCells, type Cells } from "./index.ts";
import type { CellParts } from "./parts.ts";
import { createRecords } from "./records.ts";

const [one, other] = ["cmp_00000000000000000001", "cmp_00000000000000000002"];
const cellOf = (computerId: string): string => computerId.replace("cmp", "cel");

/** Moves only when told to. */
const createManualClock = (): Clock & { readonly pass: (ms: number) => void } => {
  let now = 1_000_000;
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep: () => Promise.resolve(),
    after: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: (ms) => {
      now += ms;
      for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.callback();
    },
  };
};

/** Cells of two computers that an earlier supervisor started, on cgroups of the test's own; those in `running` are adopted. */
const useCells = async (
  context: TestContext,
  cgroups: Partial<CellParts["cgroups"]>,
  running: readonly string[] = [one, other],
  more: object = {},
  recorded: object = {},
): Promise<{
  readonly cells: Cells;
  readonly clock: ReturnType<typeof createManualClock>;
  full: boolean;
}> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-leftovers-"));
  context.after(() => rm(directory, { recursive: true }));
  const run = join(directory, "run");
  const own = placesOf({ instance: "leftovers", shortId: "left", pool: directory, run });
  const places = { ...own, sockets: (id: string) => join(run, "cells", id) };
  const clock = createManualClock();
  const logger = createLogger({ program: "test", now: clock.now, level: "error", write: () => {} });
  const cellsDirectory = join(places.state, "cells");
  await mkdir(cellsDirectory, { recursive: true });
  await writeFile(places.bootFile, "boot");
  const kept = createRecords({ places, directory: cellsDirectory, logger });
  for (const [slot, computerId] of [one, other].entries())
    await kept.write({
      computerId,
      cellId: cellOf(computerId),
      slot,
      size: "small",
      phase: running.includes(computerId) ? "running" : "exited",
      startedAtMs: 0,
      leaseEndsAtMs: 0,
      exit: null,
      warm: false,
      policy: "now",
      archiveOf: null,
      ...recorded,
    });
  const state = { full: false };
  const parts = {
    places,
    records: {
      ...kept,
      write: (record: Parameters<typeof kept.write>[0]) =>
        state.full ? Promise.reject(new Error("ENOSPC")) : kept.write(record),
    },
    logger,
    bootId: "boot",
    current: { image: "image", policy: "now" },
    clock,
    events: createEvents(clock),
    crashPoint: () => {},
    controlGid: 0,
    gatewayGid: 0,
    parallelStarts: 1,
    network: { removeLinksExcept: () => Promise.resolve(), removeLink: () => Promise.resolve() },
    bundles: { remove: () => Promise.resolve() },
    newId: () => "cel_new",
    admission: { admit: (_bytes: number, work: () => Promise<unknown>) => work() },
    volumes: {
      get: () => {
        throw new Error("it came to the start");
      },
    },
    cgroups: {
      list: () => Promise.resolve([one, other]),
      state: () => Promise.resolve({ populated: true, frozen: false, freezing: false }),
      oomKills: () => Promise.resolve(0),
      watch: () => () => {},
      freeze: () => Promise.resolve(),
      thaw: () => Promise.resolve(),
      kill: () => Promise.resolve(),
      remove: () => Promise.resolve(),
      reclaim: () => Promise.resolve(0),
      ...cgroups,
    },
    ...more,
  };
  const cells = await openCells(parts as unknown as CellParts);
  return Object.assign(state, { cells, clock });
};

const stateOf = (cells: Cells, computerId: string): string | undefined =>
  cells.list().find((cell) => cell.computer_id === computerId)?.state;

test("a computer whose last cell cannot be taken away is refused, and no other", async (context) => {
  let isStuck = true;
  const kill = async (name: string): Promise<void> => {
    if (name === one && isStuck) throw new Error("it still had processes");
  };
  const { cells } = await useCells(context, { kill }, [other]);
  assert.equal(stateOf(cells, other), "running");
  const refused = { code: "computer_failed", message: /it still had processes/ };
  await assert.rejects(cells.start(one, "small", 1000), refused);
  await assert.rejects(cells.stop(one), refused);
  await assert.rejects(cells.clear(), refused);
  assert.equal(stateOf(cells, other), "exited", "the others are ended all the same");
  isStuck = false;
  assert.equal(await cells.stop(one), true);
  assert.equal(await cells.stop(one), false);
});

test("a cell that does not end when it is told to is not taken for one that has", async (context) => {
  let isStuck = true;
  let isPopulated = true;
  const { cells } = await useCells(context, {
    kill: async () => {
      if (isStuck) throw new Error("it still had processes");
      isPopulated = false;
    },
    state: async () => ({ populated: isPopulated, frozen: false, freezing: false }),
  });
  await assert.rejects(cells.stop(one), /it still had processes/);
  await assert.rejects(cells.stop(one), /it still had processes/);
  await assert.rejects(cells.start(one, "small", 1000), { code: "computer_failed" });
  await cells.look();
  await assert.rejects(cells.stop(one), /it still had processes/);
  // Whoever looks takes it away once its last process is gone.
  [isStuck, isPopulated] = [false, false];
  await cells.look();
  assert.equal(await cells.stop(one), false);
  await assert.rejects(cells.start(one, "small", 1000), /it came to the start/);
});

test("a cell that cannot be watched has a lease all the same, and its end is seen", async (context) => {
  let isPopulated = true;
  const { cells, clock } = await useCells(context, {
    watch: () => {
      throw new Error("EMFILE: too many open files, watch");
    },
    state: async () => ({ populated: isPopulated, frozen: false, freezing: false }),
  });
  assert.deepEqual([stateOf(cells, one), stateOf(cells, other)], ["running", "running"]);
  await cells.renew([{ computer_id: other, cell_id: cellOf(other) }], 600_000);
  clock.pass(300_000);
  await until("its lease has ended it", () => stateOf(cells, one) === "frozen");
  assert.deepEqual([stateOf(cells, one), stateOf(cells, other)], ["frozen", "running"]);
  isPopulated = false;
  await cells.look();
  assert.deepEqual([stateOf(cells, one), stateOf(cells, other)], ["exited", "exited"]);
});

test("a cell whose freezing is under way when it is adopted is a frozen one, which can be thawed", async (context) => {
  const thawed: string[] = [];
  const host = await useCells(context, {
    state: async () => ({ populated: true, frozen: false, freezing: true }),
    thaw: async (name) => void thawed.push(name),
  });
  assert.equal(stateOf(host.cells, one), "frozen");
  // A lease that cannot be written down is none: the cell stays as it is, and says so.
  host.full = true;
  await assert.rejects(host.cells.thaw(one, 1000), /ENOSPC/);
  assert.deepEqual([stateOf(host.cells, one), thawed], ["frozen", []]);
  host.full = false;
  await host.cells.thaw(one, 1000);
  assert.deepEqual([stateOf(host.cells, one), thawed], ["running", [one]]);
});

test("a computer that will not be frozen delays nobody else's lease", async (context) => {
  const frozen = Promise.withResolvers<void>();
  const { cells } = await useCells(context, { freeze: () => frozen.promise });
  const leaseOf = (computerId: string): number =>
    cells.list().find((cell) => cell.computer_id === computerId)?.lease_ends_in_ms ?? 0;
  const freezing = cells.freeze(one);
  const wanted = [one, other].map((id) => ({ computer_id: id, cell_id: cellOf(id) }));
  const renewing = cells.renew(wanted, 600_000);
  await until("the other has its lease", () => leaseOf(other) >= 500_000);
  frozen.resolve();
  await freezing;
  assert.deepEqual(await renewing, []);
  assert.deepEqual(await cells.renew([{ computer_id: other, cell_id: cellOf(one) }], 1), [cellOf(one)]);
});

test("why a cell did not start is told also where what is left of it cannot be taken away", async (context) => {
  const refusal = new HoldfastError("computer_failed", "the host refused: mount: no", { step: "mount" });
  let isStuck = false;
  const { cells } = await useCells(
    context,
    {
      create: () => Promise.resolve({ legacy: {}, unified: "" }),
      kill: async () => {
        if (isStuck) throw new Error("it still had processes");
      },
    },
    [],
    {
      firstIdOf: () => 1,
      volumes: { get: () => ({ slot: 0, image: "0" }) },
      images: { find: () => Promise.resolve({ path: "/nonexistent" }) },
      network: {
        inForce: () => ({}),
        plan: () => ({ gateway: "198.18.0.1" }),
        removeLinksExcept: () => Promise.resolve(),
        removeLink: () => Promise.resolve(),
      },
      bundles: { make: () => Promise.resolve("/nonexistent"), remove: () => Promise.resolve() },
      helper: { start: () => Promise.reject(refusal) },
    },
  );
  isStuck = true;
  await assert.rejects(cells.start(one, "small", 1000), refusal);
  await assert.rejects(cells.start(one, "small", 1000), /it still had processes/);
});

/** Two cells that an earlier supervisor started ahead, under the image and the policy given. */
const useWarmCells = async (
  context: TestContext,
  made: { readonly image: string; readonly policy: string },
) => {
  const did: string[] = [];
  const { cells } = await useCells(
    context,
    {
      setShare: async (name, share) => void did.push(`share ${share} ${name}`),
      kill: async (name) => void did.push(`kill ${name}`),
      reclaim: async () => 42,
    },
    [one, other],
    {
      volumes: {
        get: () => ({ slot: 0, image: made.image }),
        destroy: async (id: string) => void did.push(`destroy ${id}`),
        create: async (id: string) => void did.push(`create ${id}`),
      },
      images: { find: () => Promise.reject(new Error("it came to the start")) },
      admission: {
        admit: (bytes: number, work: () => Promise<unknown>) => {
          did.push(`admit ${bytes}`);
          return work();
        },
      },
    },
    { warm: true, policy: made.policy },
  );
  return { cells, did };
};

test("a warm cell is admitted and gets its share when it is claimed, and not before", async (context) => {
  const { cells, did } = await useWarmCells(context, { image: "image", policy: "now" });
  const kept = await cells.start(one, "small", 1000, { warm: true });
  assert.deepEqual([kept.started, did], [false, []], "its lease is renewed, nothing else");
  const claimed = await cells.start(one, "small", 1000);
  assert.deepEqual([claimed.started, claimed.cell.cell_id], [false, cellOf(one)]);
  assert.deepEqual(did, [`admit ${1024 ** 3}`, `share usual ${one}`]);
  await cells.start(one, "small", 1000);
  assert.equal(did.length, 2, "it is a computer's cell like any other by now");
});

test("a warm cell of another policy or another image is never handed out", async (context) => {
  const policy = await useWarmCells(context, { image: "image", policy: "before" });
  await assert.rejects(policy.cells.start(one, "small", 1000), /it came to the start/);
  assert.deepEqual(policy.did.slice(0, 1), [`kill ${one}`]);
  assert.ok(!policy.did.includes(`destroy ${one}`), "its volume is as good as a new one");
  const image = await useWarmCells(context, { image: "before", policy: "now" });
  await assert.rejects(image.cells.start(one, "small", 1000), /it came to the start/);
  assert.deepEqual(image.did.slice(0, 3), [`kill ${one}`, `destroy ${one}`, `create ${one}`]);
  assert.equal(stateOf(image.cells, other), "running", "only the one that was asked for");
});

test("a computer's own cell stays, whatever image and policy are by now", async (context) => {
  const { cells } = await useCells(context, {}, [one], {}, { policy: "before" });
  assert.equal((await cells.start(one, "small", 1000)).started, false);
});

test("on a full host a warm cell is not claimed, and waits on", async (context) => {
  let isFull = true;
  const shares: string[] = [];
  const { cells } = await useCells(
    context,
    { setShare: async (_name, share) => void shares.push(share) },
    [one],
    {
      volumes: { get: () => ({ slot: 0, image: "image" }) },
      admission: {
        admit: (_bytes: number, work: () => Promise<unknown>) =>
          isFull ? Promise.reject(new HoldfastError("host_full", "no memory")) : work(),
      },
    },
    { warm: true },
  );
  await assert.rejects(cells.start(one, "small", 1000), { code: "host_full" });
  assert.equal((await cells.start(one, "small", 1000, { warm: true })).started, false);
  assert.deepEqual([stateOf(cells, one), shares], ["running", []]);
  isFull = false;
  assert.equal((await cells.start(one, "small", 1000)).cell.cell_id, cellOf(one));
  assert.deepEqual(shares, ["usual"]);
});

test("on a full host a frozen cell is thawed only to end", async (context) => {
  const refusal = new HoldfastError("host_full", "no memory");
  const admission = { admit: () => Promise.reject(refusal) };
  const { cells } = await useCells(context, {}, [one], { admission });
  await cells.freeze(one);
  await assert.rejects(cells.thaw(one, 1000), refusal);
  assert.equal(stateOf(cells, one), "frozen");
  assert.equal((await cells.thaw(one, 1000, true))?.state, "running");
});

test("memory is taken back of frozen cells alone", async (context) => {
  const { cells } = await useWarmCells(context, { image: "image", policy: "now" });
  assert.equal(await cells.reclaim(one), 0);
  await cells.freeze(one);
  assert.equal(await cells.reclaim(one), 42);
});
