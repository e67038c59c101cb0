import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { call, createKey, startWithKey } from "../../support/control.ts";
import { leapingClock } from "../../support/leaping-clock.ts";
import { playSupervisor } from "../../support/played-supervisor.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { hangMs, until } from "../../support/until.ts";

const postgres = usePostgres();
const hourMs = 3_600_000;
type Body = Readonly<Record<string, unknown>>;

/** Control on a supervisor that is played, with a clock that leaps. */
const useSnapshots = async (context: TestContext, ceilings: Body = {}) => {
  const supervisor = await playSupervisor(context);
  const clock = leapingClock();
  const { control, owner, key } = await startWithKey(context, postgres, {
    supervisor: { instance: "test", socket: supervisor.socket },
    clock,
    key: { ceilings },
  });
  const ask = (method: string, path: string, body?: unknown, token = key.secret) =>
    call(control.url, token, method, `/v1/computers${path}`, body);
  const sql = (text: string) => query(control.databaseUrl, text);
  const snapshots = async (computer: string): Promise<readonly Body[]> =>
    (await ask("GET", `/${computer}/snapshots?limit=200`)).body["snapshots"] as readonly Body[];
  const names = async (computer: string): Promise<readonly string[]> =>
    (await snapshots(computer)).map(({ name }) => String(name));
  /** Stopped, as it is after its cell was taken down; nothing runs that an agent would have to end. */
  const stopped = async (name: string): Promise<string> => {
    const made = await ask("POST", "", { name });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const id = String(made.body["id"]);
    await sql(
      `update computers set state = 'stopped', desired_state = 'stopped', cell_id = null where id = '${id}'`,
    );
    supervisor.cells.delete(id);
    return id;
  };
  return { supervisor, clock, control, owner, key, ask, sql, snapshots, names, stopped };
};

const untilHolds = (what: string, holds: () => Promise<boolean>): Promise<void> =>
  until(what, holds, { withinMs: hangMs });

test("a snapshot is taken, shown with its definitions, listed, deleted, and its name is free again", async (context) => {
  const { supervisor, ask, names, stopped, owner, control } = await useSnapshots(context);
  const computer = await stopped("one");
  const taken = await ask("POST", "/one/snapshots", { name: "first", note: "before the change" });
  assert.equal(taken.status, 201, JSON.stringify(taken.body));
  assert.deepEqual(
    [taken.body["name"], taken.body["kind"], taken.body["note"], taken.body["sync_ms"]],
    ["first", "manual", "before the change", 7],
  );
  assert.equal(supervisor.snapshots.get(String(taken.body["id"])), computer);
  assert.equal((await ask("POST", "/one/snapshots", { name: "first" })).body["code"], "name_taken");
  const shown = await ask("GET", "/one/snapshots/first");
  assert.deepEqual((shown.body["definitions"] as Body)["services"], []);
  const unnamed = await ask("POST", "/one/snapshots", {});
  assert.match(String(unnamed.body["name"]), /^at-\d{8}-\d{6}-[0-9a-z]{4}$/);
  assert.deepEqual(await names("one"), [unnamed.body["name"], "first"]);

  // Another assistant sees neither; the owner sees both.
  const other = await createKey(control, owner, "other");
  assert.equal((await ask("GET", `/${computer}/snapshots`, undefined, other.secret)).status, 404);
  assert.equal((await ask("DELETE", `/${computer}/snapshots/first`, undefined, other.secret)).status, 404);
  assert.equal((await ask("GET", `/${computer}/snapshots/first`, undefined, owner)).status, 200);

  // The supervisor is away: gone for everybody at once, from the disk as soon as it can be.
  supervisor.before = (method) => {
    if (method === "snapshot.delete") throw new HoldfastError("unavailable", "away");
  };
  assert.equal((await ask("DELETE", "/one/snapshots/first")).status, 200);
  assert.deepEqual(await names("one"), [unnamed.body["name"]]);
  assert.equal(supervisor.snapshots.size, 2);
  assert.equal((await ask("POST", "/one/snapshots", { name: "first" })).status, 201);
  supervisor.before = () => {};
  await untilHolds("what was deleted is gone", () => Promise.resolve(supervisor.snapshots.size === 2));
});

test("a snapshot that fails while the database is away too, and may have been taken, is no obstacle to the same request", async (context) => {
  const { supervisor, clock, control, key, names, stopped, sql } = await useSnapshots(context);
  const computer = await stopped("one");
  // The first time that the row is given up the database is away: a sequence counts also what is rolled back.
  await sql("create sequence tries");
  await sql(`create function away() returns trigger language plpgsql as $$ begin
    if nextval('tries') = 1 then raise exception using errcode = '57P03'; end if; return new; end $$`);
  await sql(`create trigger away before update on snapshots for each row when (new.state = 'deleting')
    execute function away()`);
  supervisor.before = (method, id) => {
    if (method !== "snapshot.create") return;
    supervisor.before = () => {};
    supervisor.snapshots.set(id, computer);
    throw new HoldfastError("unavailable", "it ended before it had answered");
  };
  const ask = () =>
    call(
      control.url,
      key.secret,
      "POST",
      "/v1/computers/one/snapshots",
      { name: "x" },
      { "idempotency-key": "x" },
    );
  const failed = await ask();
  assert.deepEqual([failed.status, failed.body["code"]], [503, "unavailable"]);
  const again = await ask();
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.deepEqual(await names("one"), ["x"]);
  clock.leap(10_000);
  await untilHolds("what was given up is gone", async () => {
    clock.leap(2_000);
    return supervisor.snapshots.size === 1 && (await sql("select 1 from snapshots")).length === 1;
  });
  assert.deepEqual([...supervisor.snapshots.keys()], [again.body["id"]]);
});

test("a snapshot that fails is an error and leaves nothing; the same request may then be made again", async (context) => {
  const { supervisor, ask, names, stopped, sql } = await useSnapshots(context);
  await stopped("one");
  supervisor.before = (method) => {
    if (method === "snapshot.create")
      throw new HoldfastError("computer_failed", "there are nested subvolumes", {
        reason: "nested_subvolumes",
      });
  };
  const failed = await ask("POST", "/one/snapshots", { name: "first" });
  assert.deepEqual([failed.status, failed.body["code"]], [409, "computer_failed"]);
  assert.deepEqual(await names("one"), []);
  supervisor.before = () => {};
  await untilHolds("the row is gone", async () => (await sql("select id from snapshots")).length === 0);
  assert.equal((await ask("POST", "/one/snapshots", { name: "first" })).status, 201);
});

test("what a crash left between the row and the snapshot is taken where it is there, and gone where it is not", async (context) => {
  const { supervisor, ask, names, stopped, sql } = await useSnapshots(context);
  await stopped("one");
  const made = [];
  for (const name of ["there", "not-there"]) made.push((await ask("POST", "/one/snapshots", { name })).body);
  supervisor.snapshots.delete(String(made[1]?.["id"]));
  await sql("update snapshots set state = 'taking'");
  assert.deepEqual(await names("one"), []);
  await untilHolds("both are judged", async () => (await sql("select id from snapshots")).length === 1);
  await untilHolds("one counts", async () => (await names("one")).length === 1);
  assert.deepEqual(await names("one"), ["there"]);
});

test("a key's ceiling of snapshots holds, also for many at once", async (context) => {
  const { ask, names, stopped } = await useSnapshots(context, { snapshots: 3 });
  await stopped("one");
  await stopped("two");
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      ask("POST", `/${index % 2 === 0 ? "one" : "two"}/snapshots`, { name: `n-${index}` }),
    ),
  );
  assert.equal(replies.filter(({ status }) => status === 201).length, 3);
  for (const { status, body } of replies)
    if (status !== 201) assert.equal(body["code"], "ceiling_reached", JSON.stringify(body));
  assert.equal((await names("one")).length + (await names("two")).length, 3);
});

test("automatic snapshots: one for each hour and day in which something was done, and no more kept than asked for", async (context) => {
  const { supervisor, clock, control, key, ask, names, snapshots, stopped, sql } =
    await useSnapshots(context);
  const id = await stopped("one");
  const patch = async (fields: Body): Promise<void> => {
    const { version } = (await ask("GET", "/one")).body;
    const changed = await call(control.url, key.secret, "PATCH", "/v1/computers/one", fields, {
      "if-match": `"${String(version)}"`,
    });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  };
  await patch({ keep_hourly: 2, keep_daily: 1 });
  const used = () => sql(`update computers set active_at_ms = ${clock.now()} where id = '${id}'`);
  const of = async (kind: string): Promise<readonly string[]> =>
    (await snapshots("one")).filter((one) => one["kind"] === kind).map(({ name }) => String(name));
  await used();
  await untilHolds("the first of each kind", async () => {
    clock.leap(30_000);
    return (await names("one")).length === 2;
  });
  const [first] = await of("hourly");
  assert.match(first ?? "", /^hourly-\d{8}-\d{2}$/);

  // Nothing happened since: no hour of it is taken.
  clock.leap(3 * hourMs);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual(await of("hourly"), [first]);

  for (let round = 1; round <= 3; round += 1) {
    const before = (await of("hourly"))[0];
    clock.leap(hourMs);
    await used();
    await untilHolds("another hour's", async () => {
      // It may just have been looking.
      clock.leap(30_000);
      return (await of("hourly"))[0] !== before;
    });
  }
  await untilHolds("two hours are kept", async () => (await of("hourly")).length === 2);
  assert.ok(!(await of("hourly")).includes(first ?? ""));
  await untilHolds("what was let go is gone from the disk", async () => {
    const ids = (await snapshots("one")).map((one) => String(one["id"]));
    return JSON.stringify([...supervisor.snapshots.keys()].sort()) === JSON.stringify(ids.sort());
  });

  // A manual one is nobody's to take away.
  await ask("POST", "/one/snapshots", { name: "mine" });
  await patch({ keep_hourly: 0, keep_daily: 0 });
  await untilHolds("only the manual one is left", async () => {
    clock.leap(30_000);
    return (await names("one")).join() === "mine";
  });
});

test("restoring stops at nothing half done: what was replaced is kept, definitions come back, or all is as it was", async (context) => {
  const { supervisor, ask, names, snapshots, stopped, sql } = await useSnapshots(context);
  const id = await stopped("one");
  const environmentNow = async () => (await ask("GET", "/one")).body["environment"];
  await sql(`update computers set environment = '{"COLOUR": "green"}' where id = '${id}'`);
  const { body: first } = await ask("POST", "/one/snapshots", { name: "first" });
  await sql(`update computers set environment = '{"COLOUR": "red"}' where id = '${id}'`);

  supervisor.before = (method) => {
    if (method === "volume.restore") throw new HoldfastError("computer_failed", "nothing is done");
  };
  const failed = await ask("POST", "/one/snapshots/first/restore", { what: "files_and_definitions" });
  assert.equal(failed.body["code"], "computer_failed", JSON.stringify(failed.body));
  supervisor.before = () => {};
  // Nobody knows how far it came: what was there before is not thrown away.
  await untilHolds("what was taken for it is kept", async () => (await names("one")).length === 2);
  const [givenUp] = await snapshots("one");
  assert.equal(givenUp?.["kind"], "before_restore");
  assert.equal(supervisor.snapshots.size, 2);
  assert.deepEqual(await environmentNow(), { COLOUR: "red" });

  const files = await ask("POST", "/one/snapshots/first/restore", {});
  assert.equal(files.status, 200, JSON.stringify(files.body));
  assert.equal((files.body["computer"] as Body)["state"], "stopped");
  assert.deepEqual(await environmentNow(), { COLOUR: "red" });
  assert.ok(supervisor.did.includes(`volume.restore ${String(first["id"])}`));
  const both = await ask("POST", "/one/snapshots/first/restore", { what: "files_and_definitions" });
  assert.equal(both.status, 200, JSON.stringify(both.body));
  assert.deepEqual(await environmentNow(), { COLOUR: "green" });
  assert.deepEqual(
    (await snapshots("one")).map(({ kind, id: one }) => [kind, one]),
    [
      ["before_restore", both.body["before"]],
      ["before_restore", files.body["before"]],
      ["before_restore", givenUp["id"]],
      ["manual", first["id"]],
    ],
  );
  const earlier = String(files.body["before"]);
  assert.equal((await ask("POST", `/one/snapshots/${earlier}/restore`, {})).status, 200);
});
