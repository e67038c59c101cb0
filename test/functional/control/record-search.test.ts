import assert from "node:assert/strict";
import { test } from "node:test";
import { call, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";

const postgres = usePostgres();

test("a search for what there is little of pauses, and goes on where it was", async (context) => {
  const { control, key } = await startWithKey(context, postgres);
  const [account] = await query(control.databaseUrl, "select id from accounts");
  // The oldest is what is looked for; 120,000 lie before it.
  await query(
    control.databaseUrl,
    `insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, target, outcome, input_digest, started_at_ms)
     select 'opr_' || lpad(n::text, 20, '0'), '${String(account?.["id"])}', 'node_x', 'file.read', '${key.assistant}', 'key_x', 'x', 'cmp_x',
       case when n = 1 then 'unknown' else 'succeeded' end, '', n
     from generate_series(1, 120000) as n`,
  );
  const list = async (words: string) =>
    (await call(control.url, key.secret, "GET", `/v1/records?${words}`)).body as {
      readonly records: readonly { readonly id: string }[];
      readonly next_cursor: string | null;
    };
  const first = await list("outcome=unknown");
  assert.deepEqual(first.records, []);
  assert.ok(first.next_cursor !== null);
  const second = await list(`outcome=unknown&cursor=${first.next_cursor}`);
  assert.deepEqual(
    second.records.map(({ id }) => id),
    [`opr_${"1".padStart(20, "0")}`],
  );
  assert.equal(second.next_cursor, null);

  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null && seen.length < 1000; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(
      `target=cmp_x&limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    seen.push(...page.records.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 1000 }, (_, index) => `opr_${String(120_000 - index).padStart(20, "0")}`),
  );
});
