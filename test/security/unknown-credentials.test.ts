import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { call, createKey, enrolOwner, startControl, type TestControl } from "../support/control.ts";
import { usePostgres } from "../support/postgres.ts";
import { query } from "../support/query.ts";

const postgres = usePostgres();

const fresh = (): string => `hf_${randomBytes(32).toString("base64url")}`;
const ask = (control: TestControl, token: string) => call(control.url, token, "GET", "/v1/principal");

/** How often the table of keys was searched so far. Postgres tells it up to a second late. */
const searches = async (control: TestControl): Promise<number> => {
  let last = -1;
  for (;;) {
    const [row] = await query(
      control.databaseUrl,
      "select pg_stat_clear_snapshot(), seq_scan + coalesce(idx_scan, 0) as n from pg_stat_user_tables where relname = 'keys'",
    );
    const now = Number(row?.["n"]);
    if (now === last) return now;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 1200));
  }
};

test("an unknown key is searched for once, however often it comes", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const ended = await createKey(control, owner, "ended");
  assert.equal((await ask(control, ended.secret)).status, 200);
  await call(control.url, owner, "DELETE", `/v1/keys/${ended.id}`);
  const before = await searches(control);
  const stranger = fresh();
  for (let round = 0; round < 100; round += 1) {
    assert.equal((await ask(control, stranger)).status, 401);
    assert.equal((await ask(control, ended.secret)).status, 401);
  }
  const searched = (await searches(control)) - before;
  assert.ok(searched <= 10, `${searched} searches for two keys`);
});

test("ever new unknown keys are refused without a search before long; who was known goes on", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const known = await createKey(control, owner, "known");
  assert.equal((await ask(control, known.secret)).status, 200);
  const before = await searches(control);
  const counts: Record<number, number> = {};
  const tries = 4 * limits.unknownCredentialsPerWindow;
  for (let sent = 0; sent < tries; sent += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, () => ask(control, fresh())));
    for (const reply of replies) {
      counts[reply.status] = (counts[reply.status] ?? 0) + 1;
      if (reply.status === 429) assert.ok(Number(reply.headers.get("retry-after")) >= 1);
    }
    assert.equal((await ask(control, known.secret)).status, 200);
  }
  assert.ok((counts[401] ?? 0) < 2 * limits.unknownCredentialsPerWindow, JSON.stringify(counts));
  assert.equal((counts[401] ?? 0) + (counts[429] ?? 0), tries);
  const overMcp = await Promise.all(
    Array.from({ length: 50 }, () =>
      fetch(`${control.url}/mcp`, {
        method: "POST",
        headers: { authorization: `Bearer ${fresh()}`, "content-type": "application/json" },
        body: "{}",
      }),
    ),
  );
  assert.ok(overMcp.some(({ status }) => status === 429));
  const searched = (await searches(control)) - before;
  assert.ok(searched < 2 * limits.unknownCredentialsPerWindow, `${searched} searches`);
});
