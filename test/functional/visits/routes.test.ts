import assert from "node:assert/strict";
import { test } from "node:test";
import { type ControlGatewayMethods, limits, type Route } from "@holdfast/contract";
import type { RpcClient } from "@holdfast/kit";
import pg from "pg";
import { call } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { announceSeed, seeded } from "../../support/seeded.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

/** Follows as gateway does, until told to stop; what it knows then is all it was told. */
const follow = (gateway: RpcClient<ControlGatewayMethods>, pageWaitMs: () => number) => {
  const known = new Map<string, Route>();
  const revisions: number[] = [];
  let stopped = false;
  let after = 0;
  const run = async (): Promise<void> => {
    for (let idle = 0; !stopped || idle === 0; ) {
      const answer = await gateway.call("routes.watch", { after, wait_ms: stopped ? 0 : pageWaitMs() });
      assert.ok(answer.next >= after);
      after = answer.next;
      revisions.push(after);
      for (const route of answer.routes) known.set(route.project_id, route);
      idle = answer.routes.length === 0 && stopped ? 1 : 0;
    }
  };
  const ended = run();
  return {
    known,
    stop: async () => {
      stopped = true;
      await ended;
    },
  };
};

test("whoever follows misses no change, however many are made at once", async (context) => {
  const random = seeded(announceSeed(context));
  const { control, owner, gateway, project, sql } = await startVisiting(context, postgres);
  const projects = await Promise.all(Array.from({ length: 12 }, (_, index) => project(`p${index}`)));
  const followers = [
    follow(gateway, () => 5000),
    follow(gateway, () => random(30)),
    follow(gateway, () => 2),
  ];
  const pick = (): string => projects[random(projects.length)] ?? "";
  const change = async (worker: number): Promise<void> => {
    for (let round = 0; round < 25; round += 1) {
      const published = random(3) > 0;
      const rules = [{ methods: null, path: `/${worker}/${round}` }];
      const reply = await call(
        control.url,
        owner,
        "POST",
        `/v1/projects/${pick()}/${published ? "publish" : "unpublish"}`,
        published ? { rules } : {},
      );
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, worker) => change(worker)));
  for (const follower of followers) await follower.stop();
  const rows = await sql("select id, published, route_revision from projects");
  for (const { known } of followers)
    assert.deepEqual(
      Object.fromEntries([...known].map(([id, route]) => [id, route.published])),
      Object.fromEntries(rows.map(({ id, published }) => [String(id), published])),
    );
});

test("a change is told while its transaction is slow to commit, and those that came after it wait their turn", async (context) => {
  const { control, owner, gateway, project } = await startVisiting(context, postgres);
  const [slow, quick] = [await project("slow"), await project("quick")];
  const { next } = await gateway.call("routes.watch", { after: 0, wait_ms: 0 });
  const client = new pg.Client({ connectionString: control.databaseUrl });
  // The database ends with the test, and its connections with it.
  client.on("error", () => {});
  await client.connect();
  // As `touchRoute` does it.
  await client.query("begin");
  await client.query("select pg_advisory_xact_lock(724041933)");
  await client.query(
    "update projects set web_port = 1, route_revision = nextval('route_revisions') where id = $1",
    [slow],
  );
  const published = call(control.url, owner, "POST", `/v1/projects/${quick}/publish`, {});
  const early = await gateway.call("routes.watch", { after: next, wait_ms: 200 });
  assert.deepEqual(early, { next, routes: [] });
  const waiting = gateway.call("routes.watch", { after: next, wait_ms: 10_000 });
  await client.query("commit");
  assert.equal((await published).status, 200);
  const told = [...(await waiting).routes];
  for (let { next: after } = await waiting; told.length < 2; ) {
    const more = await gateway.call("routes.watch", { after, wait_ms: 10_000 });
    told.push(...more.routes);
    after = more.next;
  }
  await client.end();
  assert.deepEqual(
    told.map((route) => route.project_id),
    [slow, quick],
  );
});

test("a change is told at once to whoever waits, and no sooner than it is there", async (context) => {
  const { control, owner, gateway, project } = await startVisiting(context, postgres);
  const shop = await project("shop");
  const { next } = await gateway.call("routes.watch", { after: 0, wait_ms: 0 });
  const began = performance.now();
  const waiting = gateway.call("routes.watch", { after: next, wait_ms: 20_000 });
  const nothing = await gateway.call("routes.watch", { after: next, wait_ms: 100 });
  assert.deepEqual(nothing, { next, routes: [] });
  assert.ok(performance.now() - began >= 99);
  const changed = performance.now();
  await call(control.url, owner, "POST", `/v1/projects/${shop}/publish`, {});
  assert.equal((await waiting).routes[0]?.project_id, shop);
  context.diagnostic(`told ${Math.round(performance.now() - changed)} ms after the change was asked for`);
  assert.ok(performance.now() - changed < 10_000, "it was not waited for to the end");
});

test("from the beginning there is what lives; later also what is gone", async (context) => {
  const { gateway, project, sql } = await startVisiting(context, postgres);
  const [one, two] = [await project("one"), await project("two")];
  const { next } = await gateway.call("routes.watch", { after: 0, wait_ms: 0 });
  await sql(
    "update projects set state = 'destroyed', route_revision = nextval('route_revisions') where id = $1",
    [one],
  );
  const later = await gateway.call("routes.watch", { after: next, wait_ms: 0 });
  assert.deepEqual(
    later.routes.map(({ project_id: id, removed }) => [id, removed]),
    [[one, true]],
  );
  const anew = await gateway.call("routes.watch", { after: 0, wait_ms: 0 });
  assert.deepEqual(
    anew.routes.map(({ project_id: id }) => id),
    [two],
  );
  // Whoever knows more than there is begins again: the database was put back.
  const ahead = await gateway.call("routes.watch", { after: later.next + 1000, wait_ms: 0 });
  assert.deepEqual(ahead, anew);
});

test("many routes and large ones come in pages that are read as one message", async (context) => {
  const { gateway, project, sql } = await startVisiting(context, postgres);
  await project("first");
  const rules = Array.from({ length: 32 }, (_, index) => ({
    methods: null,
    path: `/${"long/".repeat(200)}${index}`,
  }));
  await sql(
    `insert into projects (id, account_id, computer_id, principal_id, operation_id, name, slug, description, template, definition,
       published, state, route_revision, created_at_ms, updated_at_ms)
     select 'prj_' || lpad(number::text, 20, '0'), account_id, computer_id, principal_id, '', 'n' || number, 's' || number, '', 'blank',
       definition, case when number < 60 then $1::jsonb end, 'living', nextval('route_revisions'), 0, 0
     from projects, generate_series(1, $2) as number where slug = 'first'`,
    [JSON.stringify(rules), 2 * limits.routesPerReply],
  );
  const seen: string[] = [];
  let pages = 0;
  for (let after = 0; ; pages += 1) {
    const page = await gateway.call("routes.watch", { after, wait_ms: 0 });
    if (page.routes.length === 0) break;
    seen.push(...page.routes.map(({ slug }) => slug));
    after = page.next;
  }
  assert.equal(new Set(seen).size, 2 * limits.routesPerReply + 1);
  assert.equal(seen.length, new Set(seen).size);
  assert.ok(pages >= 5, `${pages} pages`);
});
