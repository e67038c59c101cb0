import assert from "node:assert/strict";
import { test } from "node:test";
import { call, type startControl, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";

const postgres = usePostgres();

const start = async (
  context: Parameters<typeof startControl>[0],
  ceilings: Readonly<Record<string, unknown>>,
) => {
  const { control, owner, key } = await startWithKey(context, postgres, { key: { ceilings } });
  const create = (name: string, fields: Readonly<Record<string, unknown>> = {}) =>
    call(control.url, key.secret, "POST", "/v1/computers", { name, wait_ms: 0, ...fields });
  return { control, owner, key, create };
};

test("fifty creations at once never pass the ceiling, and none below it is refused", async (context) => {
  const { control, create } = await start(context, { computers: 7 });
  const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => create(`c${index}`)));
  const made = replies.filter((reply) => reply.status === 201);
  assert.equal(made.length, 7);
  for (const reply of replies.filter((one) => one.status !== 201))
    assert.deepEqual(
      [reply.status, reply.body["code"]],
      [403, "ceiling_reached"],
      JSON.stringify(reply.body),
    );
  const rows = await query(control.databaseUrl, "select count(*)::int as n from computers");
  assert.deepEqual(rows, [{ n: 7 }]);
});

test("name prefix and largest size hold for creation and for changes", async (context) => {
  const { control, key, create } = await start(context, { name_prefix: "ci-", largest_size: "small" });
  assert.equal((await create("other")).body["code"], "ceiling_reached");
  assert.equal((await create("ci-big", { size: "medium" })).body["code"], "ceiling_reached");
  const made = await create("ci-one");
  assert.equal(made.status, 201);
  const change = (fields: Readonly<Record<string, unknown>>) =>
    call(control.url, key.secret, "PATCH", "/v1/computers/ci-one", fields, {
      "if-match": made.headers.get("etag") ?? "",
    });
  assert.equal((await change({ name: "other" })).body["code"], "ceiling_reached");
  assert.equal((await change({ size: "large" })).body["code"], "ceiling_reached");
});
