import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { call, enrolOwner, startControl } from "../support/control.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { faultsOf, startKeyLoad } from "../support/load.ts";
import { controlProgram } from "../support/program.ts";
import { query } from "../support/query.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

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

for (const point of [
  "store-before-commit",
  "store-committed",
  "store-before-statement",
  "store-after-statement",
])
  test(`killed at ${point}, at some of its first visits: keys are made once, and none that was acknowledged is lost`, async (context) => {
    const { database, owner, program } = await prepared(context);
    for (const visit of [1, 3, 6]) {
      await program.start(`${point}@${visit}`);
      const create = () =>
        call(
          program.url,
          owner,
          "POST",
          "/v1/keys",
          { name: `k-${visit}` },
          { "idempotency-key": `k-${visit}` },
        );
      // Where it dies in its start nobody is asked; where it lives through this, the kill comes from outside.
      const first = await create().catch(() => undefined);
      await program.kill("SIGKILL");
      await program.start();
      const again = await create();
      assert.equal(again.status, 201, `${point}@${visit}: ${JSON.stringify(again.body)}`);
      if (first?.status === 201) assert.deepEqual(again.body["key"], first.body["key"]);
      await program.kill("SIGKILL");
    }
    const keys = await query(database.url, "select count(*)::int as n from keys");
    assert.deepEqual(keys, [{ n: 3 }]);
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
  const random = seeded(context);
  await program.start();
  const load = startKeyLoad(program.url, owner, 4);
  for (let round = 0; round < 6; round += 1) {
    await systemClock.sleep(150 + random() * 500);
    await program.kill("SIGKILL");
    const began = performance.now();
    await program.start();
    assert.ok(performance.now() - began < 5000, "serving again within five seconds");
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
  const random = seeded(context);
  const control = await startControl(
    {
      after: (work) =>
        context.after(async (...args) => {
          await (work as (...rest: unknown[]) => unknown)(...args);
          await own.stop();
        }),
    },
    own,
  );
  const owner = await enrolOwner(control);
  const load = startKeyLoad(control.url, owner, 4);
  for (let round = 0; round < 4; round += 1) {
    await systemClock.sleep(150 + random() * 500);
    await own.killAndRestart();
    const began = performance.now();
    while ((await call(control.url, owner, "GET", "/v1/session")).status !== 200) await systemClock.sleep(20);
    assert.ok(performance.now() - began < 5000, "serving again within five seconds");
  }
  const settled = load.acknowledged.size;
  while (load.acknowledged.size < settled + 20) await systemClock.sleep(20);
  await load.stop();
  assert.deepEqual(await faultsOf(control.databaseUrl, load), []);
  const stuck = async () =>
    (
      await query(control.databaseUrl, "select count(*)::int as n from operations where outcome = 'running'")
    )[0]?.["n"];
  for (const deadline = Date.now() + 10_000; (await stuck()) !== 0; await systemClock.sleep(100))
    assert.ok(Date.now() < deadline, "every operation has an outcome in the end");
});

/** mulberry32: one number decides all of a round; it is printed, and `HOLDFAST_TEST_SEED` repeats it. */
const seeded = (context: { diagnostic(message: string): void }) => {
  const seed = Number(process.env["HOLDFAST_TEST_SEED"] ?? Date.now() % 100_000);
  context.diagnostic(`seed ${seed}`);
  let state = seed >>> 0;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};
