import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { HoldfastError, limits, type SupervisorMethods } from "@holdfast/contract";
import { createIds, createLogger, type RpcClient, systemClock } from "@holdfast/kit";
import { usePostgres } from "../../../../test/support/postgres.ts";
import { until } from "../../../../test/support/until.ts";
import type { Agent } from "../domain/agents.ts";
import { openStore } from "../store/open.ts";
import { insertThrowaway, listThrowaways } from "../store/throwaways.ts";
import { registerNode } from "../store/owners.ts";
import { Throwaways } from "./throwaways.ts";

const postgres = await usePostgres();
const ids = createIds(systemClock);
const job = { purpose: "trying", trees: [] };
const patient = new AbortController().signal;

/** A supervisor that says what a test wants, with what it was asked. */
const scripted = () => {
  const asked: string[] = [];
  const alive = new Set<string>();
  const fails = new Map<string, HoldfastError>();
  const answer = (method: string, { computer_id = "" }: { computer_id?: string }): unknown => {
    asked.push(method);
    const failure = fails.get(method);
    if (failure) throw failure;
    if (method === "volume.create") alive.add(computer_id);
    if (method === "volume.destroy") alive.delete(computer_id);
    return { cell: { cell_id: "cel_x" }, missing: [] };
  };
  const client = {
    call: (method: string, params: object) =>
      // As over a socket: never in the same turn.
      Promise.resolve().then(() => answer(method, params)),
    close: () => {},
  };
  return { asked, alive, fails, client: client as unknown as RpcClient<SupervisorMethods> };
};

describe("throwaway cells", () => {
  const logger = createLogger({ program: "test", now: Date.now });
  let store: ReturnType<typeof openStore>;
  let nodeId: string;
  before(async () => {
    store = openStore({ url: (await postgres.createDatabase()).url, logger });
  });
  beforeEach(async () => {
    nodeId = ids("node");
    await registerNode(store.db, { id: nodeId, name: nodeId, nowMs: 1 });
  });
  after(() => store.close());

  const make = (supervisor: ReturnType<typeof scripted>, crashPoint: (name: string) => void = () => {}) =>
    new Throwaways({
      db: store.db,
      supervisor: supervisor.client,
      agents: { of: () => ({}) as Agent, forget: () => {} },
      ids,
      clock: systemClock,
      logger,
      crashPoint,
      nodeId,
    });
  const rows = async (): Promise<number> => (await listThrowaways(store.db, nodeId, 100)).length;

  it("are written down before they are made, and gone when their work has ended, well or not", async () => {
    const supervisor = scripted();
    const throwaways = make(supervisor);
    await throwaways.run(
      job,
      async () => {
        assert.deepEqual(supervisor.asked, ["volume.create", "cell.start"]);
        assert.deepEqual([await rows(), supervisor.alive.size], [1, 1]);
      },
      patient,
    );
    assert.deepEqual([await rows(), supervisor.alive.size], [0, 0]);
    await assert.rejects(
      throwaways.run(job, () => Promise.reject(new Error("its work failed")), patient),
      /its work failed/,
    );
    assert.deepEqual([await rows(), supervisor.alive.size], [0, 0]);
  });

  it("leave nothing when one cannot be made, at whatever step", async () => {
    for (const method of ["volume.create", "cell.start"]) {
      const supervisor = scripted();
      supervisor.fails.set(method, new HoldfastError("host_full", "no room"));
      await assert.rejects(
        make(supervisor).run(job, async () => {}, patient),
        { code: "host_full" },
      );
      assert.deepEqual([await rows(), supervisor.alive.size], [0, 0], method);
    }
    for (const point of ["throwaway-recorded", "throwaway-volume", "throwaway-started"]) {
      const supervisor = scripted();
      const dying = make(supervisor, (name) => {
        if (name === point) throw new Error(`died at ${point}`);
      });
      await assert.rejects(
        dying.run(job, async () => {}, patient),
        /died at/,
      );
      assert.deepEqual([await rows(), supervisor.alive.size], [0, 0], point);
    }
  });

  it("are as many at once as may be; some more wait, the next are told to come again", async () => {
    const supervisor = scripted();
    const throwaways = make(supervisor);
    const end = Promise.withResolvers<void>();
    let most = 0;
    const jobs = Array.from({ length: limits.throwaways + 32 }, () =>
      throwaways.run(
        job,
        async () => {
          most = Math.max(most, supervisor.alive.size);
          await end.promise;
        },
        patient,
      ),
    );
    await assert.rejects(
      throwaways.run(job, async () => {}, patient),
      { code: "limit_reached" },
    );
    await until("all that may run do", () => supervisor.alive.size === limits.throwaways);
    end.resolve();
    await Promise.all(jobs);
    assert.ok(most <= limits.throwaways, String(most));
    assert.deepEqual([await rows(), supervisor.alive.size], [0, 0]);
  });

  it("that could not be destroyed are destroyed later, and those of another control at its start", async (context) => {
    const supervisor = scripted();
    const throwaways = make(supervisor);
    context.after(() => throwaways.stop());
    supervisor.fails.set("volume.destroy", new HoldfastError("unavailable", "away"));
    await throwaways.run(job, async () => {}, patient);
    assert.deepEqual([await rows(), supervisor.alive.size], [1, 1]);
    supervisor.fails.clear();
    const left = ids("computer");
    supervisor.alive.add(left);
    await insertThrowaway(store.db, { computerId: left, nodeId, purpose: "left", nowMs: 1 });
    throwaways.start();
    await throwaways.run(
      job,
      async () => {
        await until("what was left is gone", async () => supervisor.alive.size === 1 && (await rows()) === 1);
      },
      patient,
    );
    await throwaways.stop();
    assert.deepEqual([await rows(), supervisor.alive.size], [0, 0]);
  });

  it("end when whoever asked has gone, and when control stops", async () => {
    const supervisor = scripted();
    const throwaways = make(supervisor);
    const untilToldToEnd = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const gone = new AbortController();
    const left = throwaways.run(job, ({ signal }) => untilToldToEnd(signal), gone.signal);
    await until("it is there", () => supervisor.asked.includes("cell.start"));
    gone.abort(new Error("gone"));
    await assert.rejects(left, /gone/);
    await assert.rejects(
      throwaways.run(job, async () => {}, gone.signal),
      /gone/,
    );
    const running = throwaways.run(job, ({ signal }) => untilToldToEnd(signal), patient);
    running.catch(() => {});
    await until("the next is there", () => supervisor.alive.size === 1);
    await throwaways.stop();
    await assert.rejects(running, { code: "unavailable" });
    assert.deepEqual([await rows(), supervisor.alive.size], [0, 0]);
  });
});
