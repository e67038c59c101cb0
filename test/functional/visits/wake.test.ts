import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HoldfastError, limits, type Right } from "@holdfast/contract";
import { createLogger, systemClock } from "@holdfast/kit";
import pg from "pg";
import { ComputerActivity } from "../../../packages/control/src/computers/index.ts";
import type { Computer } from "../../../packages/control/src/domain/computer.ts";
import { openStore } from "../../../packages/control/src/store/open.ts";
import { Waker, type WebServices } from "../../../packages/control/src/visits/index.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { insertProject } from "../../support/visits.ts";

const postgres = usePostgres();

const dayMs = 24 * 3600 * 1000;

/** What wakes projects, on a database, with a computer that is played: what is tried here is who may start what, and how often. */
const start = async (context: TestContext) => {
  const { url, drop } = await (await postgres).createDatabase();
  const logger = createLogger({ program: "test", level: "error", now: Date.now, write: () => undefined });
  const store = openStore({ url, logger });
  const pool = new pg.Pool({ connectionString: url });
  // The database goes away under a connection that is on its way out.
  pool.on("error", () => {});
  const sql = async (text: string, values: readonly unknown[] = []) =>
    (await pool.query<Record<string, unknown>>(text, [...values])).rows;
  const time = { nowMs: 20_000 * dayMs };
  const rights = new Map<string, Right["who"]>();
  /** What the computer does when it is asked to. */
  const played = {
    state: "unknown",
    restarts: 0,
    reason: null as string | null,
    /** Its service is as it was before a sleep. */
    slept: false,
    looked: 0,
    reached: 0,
    brought: 0,
    decided: ((): boolean => false) as Parameters<WebServices["bringUp"]>[2],
    reach: (computer: Computer) => Promise.resolve(computer),
    bringUp: (): ReturnType<WebServices["bringUp"]> =>
      Promise.resolve({ state: "ready", reason: null, restarts: 0 }),
  };
  const waker = new Waker({
    db: store.db,
    clock: { ...systemClock, now: () => time.nowMs },
    logger,
    rights: { holder: (id) => Promise.resolve(rights.get(id)) },
    computers: {
      activity: new ComputerActivity(systemClock),
      reach: (computer) => {
        played.reached += 1;
        return played.reach(computer);
      },
    },
    services: {
      look: () => {
        played.looked += 1;
        const { state, restarts, reason } = played;
        return Promise.resolve({ state, restarts, reason });
      },
      isReady: () => Promise.resolve(played.slept),
      bringUp: (_computer, _serviceId, decided) => {
        played.brought += 1;
        played.decided = decided;
        return played.bringUp();
      },
      lastLines: (_computer, _service, bytes) => Promise.resolve("x".repeat(bytes + 1)),
    },
  });
  context.after(async () => {
    await waker.stop();
    await pool.end();
    await store.close();
    await drop();
  });
  await sql("insert into accounts (id, name, created_at_ms) values ('acc', 'test', 0)");
  await sql("insert into nodes (id, name, seen_at_ms) values ('node', 'test', 0)");
  const project = await insertProject(sql, "shop", "asst_one");
  const publish = () => sql(`update projects set published = '[{"methods": null, "path": "/*"}]'`);
  const { signal } = new AbortController();
  const wake = (rightId: string | null, waitMs = 5000) =>
    waker.wake({ project_id: project, right_id: rightId, wait_ms: waitMs }, signal);
  return { sql, time, rights, played, waker, project, publish, wake };
};

test("without a right nothing of a private project is touched, nor for a right that is gone", async (context) => {
  const { wake, played, publish, sql } = await start(context);
  for (const right of [null, "vis_x@prj_x"]) assert.equal((await wake(right)).state, "refused");
  await publish();
  assert.equal(
    (await wake("vis_x@prj_x")).state,
    "refused",
    "what was shown and is no right does not become a visitor's",
  );
  assert.deepEqual([played.looked, played.reached, played.brought], [0, 0, 0]);
  assert.deepEqual(await sql("select * from visitor_wakes"), []);
});

test("visitors start what is published so often a day, whatever comes at once; rights go on", async (context) => {
  const { wake, played, publish, rights, time } = await start(context);
  await publish();
  rights.set("owner", "owner");
  for (let started = 0; started < limits.visitorWakesPerDay; started += 1)
    assert.equal((await wake(null)).state, "ready");
  const starts = played.brought;
  assert.equal(starts, limits.visitorWakesPerDay);
  const refused = await Promise.all(Array.from({ length: 20 }, () => wake(null)));
  for (const answer of refused) {
    assert.equal(answer.state, "refused");
    assert.equal(answer.retry_after_ms, dayMs);
  }
  assert.equal(played.brought, starts, "nothing was started for them");
  assert.equal((await wake("owner")).state, "ready");
  time.nowMs += dayMs - 1;
  assert.deepEqual([(await wake(null)).state, (await wake(null)).retry_after_ms], ["refused", 1]);
  time.nowMs += 1;
  assert.equal((await wake(null)).state, "ready");
});

test("what only slept is not brought up anew, and counts as a start all the same", async (context) => {
  const { wake, played, publish, sql } = await start(context);
  await publish();
  await sql("update computers set state = 'asleep', desired_state = 'asleep'");
  played.slept = true;
  assert.equal((await wake(null)).state, "ready");
  assert.deepEqual([played.looked, played.reached, played.brought], [1, 1, 0]);
  assert.deepEqual(await sql("select wakes from visitor_wakes"), [{ wakes: 1 }]);
});

test("a computer that is put to sleep while it is brought up for a visit is woken again", async (context) => {
  const { wake, played, publish, sql } = await start(context);
  await publish();
  played.bringUp = async () => {
    await sql("update computers set state = 'asleep', desired_state = 'asleep'");
    await until("it is reached again", () => played.reached === 2);
    return { state: "ready", reason: null, restarts: 0 };
  };
  assert.equal((await wake(null, 20_000)).state, "ready");
});

test("many who come at once start it once", async (context) => {
  const { wake, played, publish, rights, sql } = await start(context);
  await publish();
  rights.set("owner", "owner").set("guest", "share");
  const slow = Promise.withResolvers<Awaited<ReturnType<WebServices["bringUp"]>>>();
  played.bringUp = () => slow.promise;
  const first = wake("owner");
  await until("it is being started", () => played.brought === 1);
  const others = Array.from({ length: 50 }, (_, index) => wake(index % 2 === 0 ? null : "guest"));
  assert.equal((await wake(null, 20)).state, "starting", "who has no patience is told that it starts");
  slow.resolve({ state: "ready", reason: null, restarts: 0 });
  for (const answer of await Promise.all([first, ...others])) assert.equal(answer.state, "ready");
  assert.equal(played.brought, 1);
  assert.deepEqual(
    await sql("select * from visitor_wakes"),
    [],
    "visitors joined a start that was not theirs",
  );
});

test("who has a right is not held up by a visitor who may start nothing any more", async (context) => {
  const { wake, publish, rights, project, sql, played } = await start(context);
  await publish();
  rights.set("owner", "owner");
  await sql("insert into visitor_wakes values ($1, 20000, $2)", [project, limits.visitorWakesPerDay]);
  const answers = await Promise.all([wake(null), wake("owner")]);
  assert.equal(answers[1].state, "ready");
  assert.equal(played.brought, 1);
});

test("what runs, or is on its way, is no start of a visitor's", async (context) => {
  const { wake, played, publish, sql } = await start(context);
  await publish();
  await sql("update computers set state = 'awake', desired_state = 'awake'");
  for (const state of ["ready", "waiting", "starting", "backoff", "unhealthy"]) {
    played.state = state;
    assert.equal((await wake(null)).state, "ready", state);
  }
  assert.deepEqual(await sql("select * from visitor_wakes"), []);
  assert.equal(played.brought, 4, "what is ready needs nothing");
  played.state = "stopped";
  assert.equal((await wake(null)).state, "ready");
  assert.deepEqual(await sql("select wakes from visitor_wakes"), [{ wakes: 1 }]);
});

test("why it failed is told to owners and assistants alone, and nobody's visit starts it again", async (context) => {
  const { wake, played, publish, rights } = await start(context);
  await publish();
  rights.set("owner", "owner").set("assistant", "assistant").set("guest", "share");
  played.state = "failed";
  for (const right of ["owner", "assistant"]) {
    const told = await wake(right);
    assert.equal(told.state, "failed");
    assert.equal(told.log?.length, limits.crashPageLogBytes);
    assert.notEqual(told.reason, null);
  }
  for (const right of [null, "guest"]) {
    const told = await wake(right);
    assert.deepEqual([told.state, told.reason, told.log], ["failed", null, null]);
  }
  assert.equal(played.brought, 0);
});

test("a service that ends over and over has failed for whoever comes, though it is started again", async (context) => {
  const { wake, played, publish, rights } = await start(context);
  await publish();
  rights.set("owner", "owner");
  Object.assign(played, { state: "backoff", restarts: 3, reason: "exited with code 1" });
  const told = await wake("owner");
  assert.deepEqual(
    [told.state, told.reason, told.log?.length],
    ["failed", "It ended by itself 3 times: exited with code 1.", limits.crashPageLogBytes],
  );
  const visitor = await wake(null);
  assert.deepEqual([visitor.state, visitor.reason, visitor.log], ["failed", null, null]);
  assert.equal(played.brought, 0, "it is started again without a visit");
  // One that has ended once or twice may be on its way.
  played.restarts = 2;
  assert.equal((await wake("owner")).state, "ready");
  assert.equal(played.brought, 1);
  // Whoever waits while it ends for the third time waits no longer.
  const [looping, ending] = [
    { state: "backoff", restarts: 3, reason: "killed by signal 9" },
    { state: "backoff", restarts: 2, reason: null },
  ];
  assert.deepEqual([played.decided(looping), played.decided(ending)], [true, false]);
  played.bringUp = () => Promise.resolve(looping);
  const waited = await wake("owner");
  assert.deepEqual(
    [waited.state, waited.reason],
    ["failed", "It ended by itself 3 times: killed by signal 9."],
  );
});

test("what keeps a computer from coming up is told as what it is", async (context) => {
  const { wake, played, rights, sql, waker } = await start(context);
  rights.set("owner", "owner");
  const failing = (code: "host_full" | "computer_failed" | "computer_starting" | "not_found") => {
    played.reach = () => Promise.reject(new HoldfastError(code, `it is ${code}`));
  };
  failing("host_full");
  assert.deepEqual(await wake("owner"), {
    state: "starting",
    retry_after_ms: 10_000,
    reason: "it is host_full",
    log: null,
  });
  failing("computer_starting");
  assert.equal((await wake("owner")).state, "starting");
  failing("computer_failed");
  assert.deepEqual(
    [(await wake("owner")).state, (await wake("owner")).reason],
    ["failed", "it is computer_failed"],
  );
  failing("not_found");
  await assert.rejects(wake("owner"), { code: "not_found" });
  await sql("update projects set deployed_definition = null");
  assert.equal((await wake("owner")).state, "no_service");
  await sql("update projects set state = 'destroyed'");
  await assert.rejects(wake("owner"), { code: "not_found" });
  await waker.stop();
});
