import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { call, enrolOwner, startControl } from "../support/control.ts";
import { startPostgres, usePostgres } from "../support/postgres.ts";
import { faultsOf, startKeyLoad } from "../support/load.ts";
import { controlProgram } from "../support/program.ts";
import { query } from "../support/query.ts";
import { announceSeed, seeded } from "../support/seeded.ts";
import { hangMs, until } from "../support/until.ts";

const postgres = await usePostgres();

/** A database with an enrolled owner; control itself is stopped again. */
const prepared = async (context: Parameters<typeof startControl>[0]) => {
  const database = await postgres.createDatabase();
  const first = await startControl({ after: () => {} }, postgres, { databaseUrl: database.url });
  const owner = await enrolOwner(first);
  await first.stop();
  const program = await controlProgram(database.url);
  context.after(async () => {
    await program.remove();
    await database.drop();
  });
  return { database, owner, program };
};

/** Around each durable statement of an operation: where control dies, and whether the first request can have taken effect by then. */
const points = {
  "operation-before-admitted": { outcome: undefined, done: false },
  "operation-admitted": { outcome: "failed", done: false },
  "operation-before-settled": { outcome: "failed", done: false },
  "operation-settled": { outcome: "succeeded", done: true },
} as const;

for (const [point, expected] of Object.entries(points)) {
  test(`killed at ${point}: the request can be repeated and is done exactly once`, async (context) => {
    const { database, owner, program } = await prepared(context);
    await program.start(point);
    const create = () =>
      call(program.url, owner, "POST", "/v1/keys", { name: "claude" }, { "idempotency-key": "k1" });
    await assert.rejects(create());
    assert.equal(await program.ended(), "SIGKILL");
    await program.start();
    const [first] = await query(
      database.url,
      "select outcome from operations where operation = 'key.create' order by id limit 1",
    );
    assert.equal(first?.["outcome"], expected.outcome);
    const again = await create();
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.equal(again.headers.get("idempotency-replayed"), expected.done ? "true" : null);
    const keys = await query(database.url, "select count(*)::int as n from keys");
    assert.deepEqual(keys, [{ n: 1 }]);
    const who = await call(program.url, String(again.body["secret"]), "GET", "/v1/principal");
    assert.equal(who.status, 200);
  });
}

test("killed while it gives what was left behind an outcome: the next start does", async (context) => {
  const { database, owner, program } = await prepared(context);
  await program.start("operation-admitted");
  const create = () =>
    call(program.url, owner, "POST", "/v1/keys", { name: "claude" }, { "idempotency-key": "k1" });
  await assert.rejects(create());
  assert.equal(await program.ended(), "SIGKILL");
  const outcome = async () =>
    (
      await query(
        database.url,
        "select outcome from operations where operation = 'key.create' order by id limit 1",
      )
    )[0]?.["outcome"];
  await program.start("operation-before-reconciled");
  assert.equal(await program.ended(), "SIGKILL");
  assert.equal(await outcome(), "running");
  await program.start();
  assert.equal(await outcome(), "failed");
  assert.equal((await create()).status, 201);
});

/** Visits of a start and a first request: commits are the start's own, that of admission and that of the outcome; statements by themselves are the start's. */
const visits = {
  "store-before-commit": [1, 2, 3],
  "store-committed": [1, 2, 3],
  "store-before-statement": [1, 2],
  "store-after-statement": [1, 2],
} as const;

for (const [point, counts] of Object.entries(visits))
  test(`killed at ${point}, at each of its first visits: keys are made once, and none that was acknowledged is lost`, async (context) => {
    const { database, owner, program } = await prepared(context);
    for (const visit of counts) {
      await program.start(`${point}@${visit}`);
      const name = `k-${visit}`;
      const create = () =>
        call(program.url, owner, "POST", "/v1/keys", { name }, { "idempotency-key": name });
      // Where it dies in its start nobody is asked.
      const first = await create().catch(() => undefined);
      let died = false;
      void program.ended().then(() => (died = true));
      await until(`it dies at ${point}@${visit}`, () => died);
      await program.start();
      const again = await create();
      assert.equal(again.status, 201, `${point}@${visit}: ${JSON.stringify(again.body)}`);
      if (first?.status === 201) assert.deepEqual(again.body["key"], first.body["key"]);
      await program.kill("SIGKILL");
    }
    const keys = await query(database.url, "select count(*)::int as n from keys");
    assert.deepEqual(keys, [{ n: counts.length }]);
  });

test("killed while it migrates: the next start goes on", async (context) => {
  const fresh = await postgres.createEmptyDatabase();
  const program = await controlProgram(fresh.url);
  context.after(async () => {
    await program.remove();
    await fresh.drop();
  });
  for (const point of [
    "migration-before-commit@1",
    "migration-before-commit@2",
    "migration-committed@1",
    "migration-before-commit@2",
  ]) {
    await program.start(point);
    assert.equal(await program.ended(), "SIGKILL", point);
  }
  await program.start();
  const rows = await query(fresh.url, "select count(*)::int as n from migrations");
  assert.ok(Number(rows[0]?.["n"]) >= 3);
});

test("killed again and again under load: no acknowledged key is lost, none is made twice", {
  timeout: 120_000,
}, async (context) => {
  const { database, owner, program } = await prepared(context);
  const random = seeded(announceSeed(context));
  await program.start();
  const load = startKeyLoad(program.url, owner, 4);
  for (let round = 0; round < 6; round += 1) {
    await systemClock.sleep(150 + random(500));
    await program.kill("SIGKILL");
    const began = performance.now();
    await program.start();
    context.diagnostic(`serving again ${Math.round(performance.now() - began)} ms after its start`);
  }
  await systemClock.sleep(300);
  await load.stop();
  assert.deepEqual(await faultsOf(database.url, load), []);
  assert.ok(load.acknowledged.size > 20, `${load.acknowledged.size} acknowledged`);
});

test("Postgres killed again and again under load: control goes on, nothing is lost or doubled", {
  timeout: 180_000,
}, async (context) => {
  const own = await startPostgres({ own: true });
  const random = seeded(announceSeed(context));
  let stopControl = (): unknown => undefined;
  context.after(async () => {
    await stopControl();
    await own.stop();
  });
  const control = await startControl({ after: (work) => void (stopControl = work as () => unknown) }, own);
  const owner = await enrolOwner(control);
  const load = startKeyLoad(control.url, owner, 4);
  for (let round = 0; round < 4; round += 1) {
    await systemClock.sleep(150 + random(500));
    await own.killAndRestart();
    await until(
      "it serves again",
      async () => (await call(control.url, owner, "GET", "/v1/session")).status === 200,
      { withinMs: hangMs },
    );
  }
  const settled = load.acknowledged.size;
  await until("keys are made again", () => load.acknowledged.size >= settled + 20, { withinMs: 30_000 });
  await load.stop();
  assert.deepEqual(await faultsOf(control.databaseUrl, load), []);
  const stuck = async () =>
    (
      await query(control.databaseUrl, "select count(*)::int as n from operations where outcome = 'running'")
    )[0]?.["n"];
  await until("every operation has an outcome", async () => (await stuck()) === 0);
});
