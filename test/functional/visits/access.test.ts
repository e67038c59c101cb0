import assert from "node:assert/strict";
import { test } from "node:test";
import { type AccessRecord, limits } from "@holdfast/contract";
import { call, createKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

const record = (project: string, fields: Partial<AccessRecord> = {}): AccessRecord => ({
  project_id: project,
  at_ms: 1_700_000_000_000,
  port: null,
  method: "GET",
  path: "/",
  status: 200,
  received_bytes: 0,
  sent_bytes: 12,
  duration_ms: 3,
  subject: null,
  ...fields,
});

test("requests are read newest first, in pages, by the owner and the project's own assistant", async (context) => {
  const { control, owner, key, gateway, project } = await startVisiting(context, postgres);
  const shop = await project("shop");
  const stranger = await createKey(control, owner, "stranger");
  const paths = Array.from({ length: 7 }, (_, index) => `/${index}`);
  await gateway.call("access.record", {
    records: [
      ...paths.map((path) => record(shop, { path, subject: key.assistant, port: 8080 })),
      // Of no project: left out, and the rest is kept.
      record("prj_00000000000000000000"),
    ],
  });
  const read = async (token: string) => {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await call(control.url, token, "GET", `/v1/projects/shop/access?limit=3${at}`);
      assert.equal(page.status, 200, JSON.stringify(page.body));
      seen.push(...(page.body["requests"] as { path: string }[]).map(({ path }) => path));
      cursor = page.body["next_cursor"] as string | null;
    }
    return seen;
  };
  assert.deepEqual(await read(owner), paths.toReversed());
  assert.deepEqual(await read(key.secret), paths.toReversed());
  assert.equal((await call(control.url, stranger.secret, "GET", "/v1/projects/shop/access")).status, 404);
  const { body } = await call(control.url, owner, "GET", "/v1/projects/shop/access?limit=1");
  assert.deepEqual(body["requests"], [
    {
      at: "2023-11-14T22:13:20.000Z",
      port: 8080,
      method: "GET",
      path: "/6",
      status: 200,
      received_bytes: 0,
      sent_bytes: 12,
      duration_ms: 3,
      subject: key.assistant,
    },
  ]);
});

test("whatever gateway says of a request can be read", async (context) => {
  const { control, owner, gateway, project } = await startVisiting(context, postgres);
  const shop = await project("shop");
  await gateway.call("access.record", {
    records: [
      record(shop, { at_ms: Number.MAX_SAFE_INTEGER, sent_bytes: Number.MAX_SAFE_INTEGER, path: "/later" }),
      record(shop, { path: "/\0\ud800'\"\\", method: "\0", subject: "\0" }),
    ],
  });
  await assert.rejects(gateway.call("access.record", { records: [record(shop, { status: 1000 })] }), {
    code: "invalid_input",
  });
  const read = await call(control.url, owner, "GET", "/v1/projects/shop/access");
  assert.equal(read.status, 200, JSON.stringify(read.body));
  const [odd, later] = read.body["requests"] as { path: string; at: string }[];
  assert.equal(odd?.path, "/\ufffd\ufffd'\"\\");
  assert.equal(later?.path, "/later");
  assert.ok(Date.parse(later.at) <= Date.now());
});

test("the newest of each project are kept, others' untouched", async (context) => {
  const { gateway, project, sql } = await startVisiting(context, postgres);
  const [busy, quiet] = [await project("busy"), await project("quiet")];
  await gateway.call("access.record", { records: [record(quiet, { path: "/quiet" })] });
  const batches = (2 * limits.accessRecordsKept) / limits.accessRecordsPerBatch;
  for (let batch = 0; batch < batches; batch += 1)
    await gateway.call("access.record", {
      records: Array.from({ length: limits.accessRecordsPerBatch }, (_, index) =>
        record(busy, { path: `/${batch * limits.accessRecordsPerBatch + index}` }),
      ),
    });
  const [kept] = await sql(
    `select count(*)::int as kept, min(substr(path, 2)::int) as first, max(substr(path, 2)::int) as last
     from access_records where project_id = $1`,
    [busy],
  );
  assert.deepEqual(kept, {
    kept: limits.accessRecordsKept,
    first: limits.accessRecordsKept,
    last: 2 * limits.accessRecordsKept - 1,
  });
  assert.equal((await sql("select from access_records where project_id = $1", [quiet])).length, 1);
});
