import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { lifecycleDefaults, limits } from "@holdfast/contract";
import { call, createKey, type startControl, startWithKey } from "../../support/control.ts";
import { playSupervisor } from "../../support/played-supervisor.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";

const postgres = usePostgres();
type Body = Readonly<Record<string, unknown>>;
type Ceilings = Readonly<Record<string, unknown>>;

const start = async (context: TestContext, ceilings: Ceilings = {}) => {
  const supervisor = await playSupervisor(context);
  const options: Parameters<typeof startControl>[2] = {
    supervisor: { instance: "test", socket: supervisor.socket },
  };
  const { control, owner, key } = await startWithKey(context, postgres, { ...options, key: { ceilings } });
  const as =
    (secret: string) =>
    (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
      call(control.url, secret, method, path, body, headers);
  const sql = (text: string) => query(control.databaseUrl, text);
  return { control, owner, key, as, ask: as(key.secret), sql };
};

test("what a computer does by itself is as its size has it, or as was asked for, and may be changed", async (context) => {
  const { ask } = await start(context);
  const made = await ask("POST", "/v1/computers", { name: "plain" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { sleep_after_ms, stop_after_ms, archive_after_ms, keep_awake, expires_at } = made.body;
  assert.deepEqual({ sleep_after_ms, stop_after_ms }, { ...lifecycleDefaults.small });
  assert.deepEqual([archive_after_ms, keep_awake, expires_at], [0, false, null]);
  const asked = {
    sleep_after_ms: 60_000,
    stop_after_ms: 0,
    archive_after_ms: 120_000,
    keep_awake: true,
    keep_daily: 3,
  };
  const own = await ask("POST", "/v1/computers", { name: "own", ...asked, lifetime_ms: 3_600_000 });
  const { expires_at: ends, created_at: began } = own.body;
  assert.equal(Date.parse(String(ends)) - Date.parse(String(began)), 3_600_000);
  for (const [field, value] of Object.entries(asked)) assert.equal(own.body[field], value, field);
  const headers = { "if-match": `"${String(own.body["version"])}"` };
  const changed = await ask("PATCH", "/v1/computers/own", { keep_awake: false, sleep_after_ms: 0 }, headers);
  assert.deepEqual(
    [changed.body["keep_awake"], changed.body["sleep_after_ms"], changed.body["stop_after_ms"]],
    [false, 0, 0],
    JSON.stringify(changed.body),
  );
});

test("holds are taken, renewed, listed and released; each ends by itself and with its process, and there are only so many", async (context) => {
  const { ask, sql } = await start(context);
  await ask("POST", "/v1/computers", { name: "one" });
  const path = "/v1/computers/one/holds";
  const take = (fields: Body, key?: string) =>
    ask(
      "POST",
      path,
      { reason: "a test", ...fields },
      key === undefined ? {} : { "idempotency-key": `"${key}"` },
    );
  const taken = await take({ for_ms: 60_000 }, "once");
  assert.equal(taken.status, 201, JSON.stringify(taken.body));
  assert.equal((await take({ for_ms: 60_000 }, "once")).body["id"], taken.body["id"]);
  const list = async () => ((await ask("GET", path)).body["holds"] as Body[]).map(({ id }) => id);
  assert.deepEqual(await list(), [taken.body["id"]]);
  const renewed = await ask("POST", `${path}/${String(taken.body["id"])}/renew`, { for_ms: 600_000 });
  assert.ok(String(renewed.body["expires_at"]) > String(taken.body["expires_at"]));
  assert.equal((await take({ for_ms: limits.holdMs + 1 })).status, 400);

  await sql("update holds set expires_at_ms = 1");
  assert.deepEqual(await list(), []);
  assert.equal(
    (await ask("POST", `${path}/${String(taken.body["id"])}/renew`, {})).body["code"],
    "not_found",
  );
  assert.equal((await take({ process: "prc_00000000000000000000" })).body["code"], "not_found");
  await sql(
    `insert into processes (id, computer_id, operation_id, principal_id, command, terminal, stdin_open, state, started_at_ms)
     select 'prc_00000000000000000001', id, 'opr', principal_id, 'true', false, false, 'running', 0 from computers`,
  );
  const bound = await take({ process: "prc_00000000000000000001" });
  assert.deepEqual(await list(), [bound.body["id"]]);
  await sql("update processes set state = 'ended', ended_at_ms = 1");
  assert.deepEqual(await list(), []);
  assert.equal((await take({ process: "prc_00000000000000000001" })).body["code"], "wrong_state");

  const all = await Promise.all(Array.from({ length: limits.holdsPerComputer + 5 }, () => take({})));
  assert.equal(all.filter(({ status }) => status === 201).length, limits.holdsPerComputer);
  for (const { status, body } of all) if (status !== 201) assert.equal(body["code"], "limit_reached");
  const [first] = await list();
  for (const released of [true, true])
    assert.equal((await ask("DELETE", `${path}/${String(first)}`)).body["released"], released);
  assert.equal((await take({})).status, 201);
});

test("disk counts by sizes, for computers and their children together, also when one grows and when many come at once", async (context) => {
  const gibibyte = 1024 ** 3;
  const { ask, sql } = await start(context, {
    computers: 50,
    disk_bytes: 35 * gibibyte,
    largest_size: "large",
  });
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, index) => ask("POST", "/v1/computers", { name: `c${index}`, wait_ms: 0 })),
  );
  const there = made.filter(({ status }) => status === 201);
  assert.equal(there.length, 7, "of 5 GiB each");
  for (const { status, body } of made)
    if (status !== 201)
      assert.deepEqual(
        [body["code"], (body["details"] as Body)["ceiling"]],
        ["ceiling_reached", "disk_bytes"],
      );
  const [one] = there;
  const grow = async () => {
    const { body } = await ask("GET", `/v1/computers/${String(one?.body["id"])}`);
    const headers = { "if-match": `"${String(body["version"])}"` };
    return ask("PATCH", `/v1/computers/${String(one?.body["id"])}`, { size: "medium" }, headers);
  };
  assert.equal((await grow()).body["code"], "ceiling_reached");
  for (const gone of there.slice(1, 4)) await ask("DELETE", `/v1/computers/${String(gone.body["id"])}`);
  assert.equal((await grow()).body["size"], "medium");
  // One that became somebody else's child counts on.
  await sql(
    `update computers set delegator_id = principal_id, principal_id = 'asst_helper' where id = '${String(there.at(-1)?.body["id"])}'`,
  );
  assert.equal((await ask("POST", "/v1/computers", { name: "more" })).body["code"], "ceiling_reached");
});

test("who delegated sees the child and promotes it: it is its own then, and the helper's no more", async (context) => {
  const { control, owner, key, as, ask, sql } = await start(context, { name_prefix: "" });
  const helper = await createKey(control, owner, "helper");
  const stranger = await createKey(control, owner, "stranger");
  await ask("POST", "/v1/computers", { name: "parent" });
  const kid = await as(helper.secret)("POST", "/v1/computers", { name: "kid", lifetime_ms: 600_000 });
  const id = String(kid.body["id"]);
  await sql(
    `update computers set parent_id = (select id from computers where name = 'parent'),
       delegator_id = (select principal_id from computers where name = 'parent') where id = '${id}'`,
  );
  const seen = async (secret: string): Promise<number> =>
    (await as(secret)("GET", `/v1/computers/${id}`)).status;
  assert.deepEqual(
    [await seen(key.secret), await seen(helper.secret), await seen(stranger.secret)],
    [200, 200, 404],
  );
  assert.equal((await as(helper.secret)("POST", `/v1/computers/${id}/promote`)).status, 404);
  const promoted = await ask("POST", `/v1/computers/${id}/promote`);
  assert.equal(promoted.status, 200, JSON.stringify(promoted.body));
  const { owner: whose, parent, expires_at, state } = promoted.body;
  assert.deepEqual([parent, expires_at, state], [null, null, "awake"]);
  assert.notEqual(whose, kid.body["owner"]);
  assert.deepEqual(
    [await seen(key.secret), await seen(helper.secret), await seen(stranger.secret)],
    [200, 404, 404],
  );
  assert.equal((await ask("POST", `/v1/computers/${id}/promote`)).status, 200, "again is fine");
  await ask("DELETE", "/v1/computers/parent");
  assert.equal(await seen(key.secret), 200, "it does not end with what was its parent");
});
