import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { type Clock, systemClock } from "@holdfast/kit";
import { call, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();

/** Housekeeping comes round every 30 s; here a pause is a hundredth of what it is. */
const hurried: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };

const count = async (url: string, from: string): Promise<number> =>
  Number((await query(url, `select count(*)::int as n from ${from}`))[0]?.["n"]);

test("old events, keys of repeats, records and sessions are forgotten; a reader who was away is told how much it missed", async (context) => {
  const {
    control,
    owner,
    key: { secret },
  } = await startWithKey(context, postgres, { clock: hurried });
  const { databaseUrl } = control;
  const old = Date.now() - limits.recordsKeptMs - 1000;
  const more = 5000;
  await query(
    databaseUrl,
    `insert into events (account_id, kind, target, computer_id, visible_to, at_ms, data)
     select account_id, 'computer.changed', 'cmp_x', null, null, 1, '{}' from owners, generate_series(1, ${limits.eventsKept + more})`,
  );
  await query(
    databaseUrl,
    `insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, target, outcome, error, input_digest, started_at_ms, duration_ms)
     select 'opr_' || lpad(n::text, 20, '0'), account_id, 'n', 'computer.get', 'asst_x', 'key_x', 'http x', null,
       case n when 1 then 'running' else 'succeeded' end, null, '', ${old}, 1 from owners, generate_series(1, 12000) as n`,
  );
  await query(
    databaseUrl,
    `insert into idempotency_keys (principal_id, operation, key, input_digest, operation_id, state, expires_at_ms)
     select 'asst_x', 'computer.create', n::text, '', 'opr_x' || n, 'succeeded', 1 from generate_series(1, 100) as n`,
  );
  await query(
    databaseUrl,
    `insert into sessions (id, owner_id, token_hash, created_at_ms, expires_at_ms, confirmed_until_ms) select 'ses_old', id, '', 1, 2, 2 from owners`,
  );
  await query(databaseUrl, `insert into login_attempts values ('address x', 1, 3)`);
  await until(
    "all of it is forgotten",
    async () =>
      (await count(databaseUrl, "events")) <= limits.eventsKept &&
      (await count(databaseUrl, `operations where started_at_ms = ${old}`)) <= 1 &&
      (await count(databaseUrl, "idempotency_keys where principal_id = 'asst_x'")) === 0 &&
      (await count(databaseUrl, "sessions where id = 'ses_old'")) === 0 &&
      (await count(databaseUrl, "login_attempts where subject = 'address x'")) === 0,
    { withinMs: 40_000 },
  );
  // What has no outcome yet is not forgotten, however old it is.
  assert.equal(await count(databaseUrl, `operations where id = 'opr_00000000000000000001'`), 1);
  const leave = new AbortController();
  const stream = await fetch(`${control.url}/v1/events?after=1`, {
    headers: { authorization: `Bearer ${secret}` },
    signal: leave.signal,
  });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  await until("it is told", async () => {
    text += (await reader?.read())?.value ?? "";
    return /event: missed\ndata: \{"events":\d+\}/.test(text);
  });
  const missed = Number(/"events":(\d+)/.exec(text)?.[1]);
  assert.ok(missed >= more - 1 && missed < more + 100, `${missed}`);
  leave.abort();
  // The session that is used is another one.
  assert.equal((await call(control.url, owner, "GET", "/v1/session")).status, 200);
});

test("of a computer's ended processes the newest thousand are remembered, and all that run", async (context) => {
  const {
    control,
    key: { secret },
  } = await startWithKey(context, postgres, { clock: hurried });
  const made = await call(control.url, secret, "POST", "/v1/computers", { name: "box", wait_ms: 0 });
  const id = String(made.body["id"]);
  await query(
    control.databaseUrl,
    `insert into processes (id, computer_id, cell_id, operation_id, principal_id, command, terminal, stdin_open, state, exit, started_at_ms)
     select 'prc_' || lpad(n::text, 20, '0'), '${id}', 'cell', 'opr_x', 'asst_x', 'true', false, false,
       case when n <= 3 then 'running' else 'ended' end, case when n <= 3 then null else '{"kind":"exited","code":0}'::jsonb end, n
     from generate_series(1, ${limits.processesKept + 50}) as n`,
  );
  await control.restart();
  await until(
    "the rest is forgotten",
    async () => (await count(control.databaseUrl, "processes where state = 'ended'")) <= limits.processesKept,
  );
  assert.equal(await count(control.databaseUrl, "processes where state = 'running'"), 3);
  const list = await call(control.url, secret, "GET", `/v1/computers/${id}/processes?limit=1`);
  const [newest] = list.body["processes"] as { readonly id: string }[];
  assert.equal(newest?.id, `prc_${String(limits.processesKept + 50).padStart(20, "0")}`);
});
