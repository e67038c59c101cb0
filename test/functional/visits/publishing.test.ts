import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Route } from "@holdfast/contract";
import { call, createKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

const start = async (context: TestContext) => {
  const visiting = await startVisiting(context, postgres);
  const { control, owner, gateway } = visiting;
  const project = await visiting.project("shop");
  const ask = (token: string, verb: string, body: unknown = {}, ref = project) =>
    call(control.url, token, "POST", `/v1/projects/${ref}/${verb}`, body);
  const routeNow = async (): Promise<Route | undefined> =>
    (await gateway.call("routes.watch", { after: 0, wait_ms: 0 })).routes.find(
      (route) => route.project_id === project,
    );
  const events = async (): Promise<readonly unknown[]> =>
    (await visiting.sql("select kind from events where kind like 'project.%' order by id")).map(
      ({ kind }) => kind,
    );
  return { ...visiting, owner, project, ask, routeNow, events };
};

const everything = [{ methods: null, path: "/*" }];

test("a project is private until an owner publishes it, and again after unpublish", async (context) => {
  const { owner, ask, routeNow, events, project, sql } = await start(context);
  assert.deepEqual(await routeNow(), {
    project_id: project,
    slug: "shop",
    computer_id: (await routeNow())?.computer_id,
    port: 20_000,
    published: null,
    removed: false,
  });
  const published = await ask(owner, "publish");
  assert.equal(published.status, 200, JSON.stringify(published.body));
  assert.deepEqual([published.body["visibility"], published.body["published"]], ["published", everything]);
  assert.deepEqual((await routeNow())?.published, everything);

  const rules = [
    { methods: ["POST"], path: "/hooks/*" },
    { methods: ["GET", "HEAD"], path: "/" },
  ];
  const replaced = await ask(owner, "publish", { rules }, "shop");
  assert.deepEqual(replaced.body["published"], rules);
  assert.deepEqual((await routeNow())?.published, rules);
  assert.deepEqual((await ask(owner, "publish", { rules })).body["published"], rules);

  const closed = await ask(owner, "unpublish");
  assert.deepEqual([closed.body["visibility"], closed.body["published"]], ["private", null]);
  assert.equal((await routeNow())?.published, null);
  assert.equal((await ask(owner, "unpublish")).status, 200);
  const told = await sql("select data from events where kind like 'project.%' order by id");
  for (const { data } of told) {
    const { name, slug } = data as Record<string, unknown>;
    assert.deepEqual([typeof name, slug], ["string", "shop"]);
  }
  // What changed nothing is not told of.
  assert.deepEqual(await events(), ["project.published", "project.published", "project.unpublished"]);
});

test("an assistant may close its own project and open none", async (context) => {
  const { control, owner, key, ask, routeNow } = await start(context);
  const stranger = await createKey(control, owner, "stranger");
  assert.equal((await ask(key.secret, "publish")).status, 404);
  assert.equal((await ask(owner, "publish")).status, 200);
  assert.equal((await ask(stranger.secret, "unpublish")).status, 404);
  assert.deepEqual((await routeNow())?.published, everything);
  assert.equal((await ask(key.secret, "unpublish")).status, 200);
  assert.equal((await routeNow())?.published, null);
  for (const [method, path] of [
    ["POST", "open"],
    ["POST", "shares"],
    ["GET", "shares"],
    ["DELETE", "shares/shr_00000000000000000000"],
  ] as const)
    assert.equal(
      (await call(control.url, key.secret, method, `/v1/projects/shop/${path}`)).status,
      404,
      path,
    );
});

test("a rule whose path could be read in two ways is refused with its place", async (context) => {
  const { owner, ask, routeNow } = await start(context);
  const bad = [
    "hooks",
    "/a*b",
    "/**",
    "/a/*/b",
    "/a?b",
    "/a#b",
    "/a/../b",
    "/a/..",
    "/./a",
    "/a/.*",
    "/a/..*",
    "//a",
    "/a//*",
    "/a\\b",
    "/a;b",
    "/a%2e",
    "/a%2E",
    "/a%2Fb",
    "/a%5Cb",
    "/a%252e",
    "/a%25",
    "/a%00",
    "/a%0A",
    "/a%7F",
    "/a%41",
    "/a%",
    "/a%4",
    "/a%zz",
    "/a%c3%a9",
    "/a%C0%AE",
    "/a b",
    "/é",
    "/a\nb",
    "/.holdfast/ticket",
    "/.holdfast",
    "/.holdfast/*",
  ];
  for (const path of bad) {
    const reply = await ask(owner, "publish", { rules: [...everything, { methods: null, path }] });
    assert.deepEqual([path, reply.status, reply.body["code"]], [path, 400, "invalid_input"]);
    assert.match(JSON.stringify(reply.body["details"] ?? reply.body), /rules/, path);
  }
  assert.equal((await routeNow())?.published, null, "all of it was refused");
  const good = [
    "/",
    "/*",
    "/a",
    "/a/",
    "/a/*",
    "/a*",
    "/.well-known/*",
    "/a..b",
    "/...",
    "/a%20b",
    "/%C3%A9*",
    "/a/~u",
  ];
  const rules = good.map((path) => ({ methods: null, path }));
  assert.deepEqual((await ask(owner, "publish", { rules })).body["published"], rules);
});

test("a link to open a project names its origin, or that of another port", async (context) => {
  const { owner, ask } = await start(context);
  assert.match(
    String((await ask(owner, "open")).body["url"]),
    /^http:\/\/shop\.localhost:7301\/\.holdfast\/ticket\?t=hft_[A-Za-z0-9_-]{43}$/,
  );
  assert.match(
    String((await ask(owner, "open", { port: 8080 })).body["url"]),
    /^http:\/\/8080--shop\.localhost:7301\/\.holdfast\/ticket\?t=hft_/,
  );
  assert.equal((await ask(owner, "open", {}, "unknown")).status, 404);
});

test("shares are listed without their secret, and their number is limited", async (context) => {
  const { control, owner, project, share, sql } = await start(context);
  const one = await share(project, { label: "for Ada" });
  const list = await call(control.url, owner, "GET", `/v1/projects/${project}/shares`);
  const [listed] = list.body["shares"] as { id: string; label: string; revoked_at: string | null }[];
  assert.deepEqual([listed?.id, listed?.label, listed?.revoked_at], [one.id, "for Ada", null]);
  assert.ok(!JSON.stringify(list.body).includes(one.token));
  await sql(
    `insert into shares (id, project_id, label, token_hash, created_by, created_at_ms, expires_at_ms)
     select 'shr_' || number, $1, '', sha256(number::text::bytea), '', 0, 9000000000000 from generate_series(1, 99) as number`,
    [project],
  );
  const over = await call(control.url, owner, "POST", `/v1/projects/${project}/shares`, {});
  assert.deepEqual([over.status, over.body["code"]], [429, "limit_reached"]);
  const revoked = await call(control.url, owner, "DELETE", `/v1/projects/${project}/shares/${one.id}`);
  assert.notEqual(revoked.body["revoked_at"], null);
  assert.equal((await call(control.url, owner, "POST", `/v1/projects/${project}/shares`, {})).status, 201);
});

test("a share that is asked for twice with one key is one, and answered with the same link", async (context) => {
  const { control, owner, project } = await start(context);
  const make = () =>
    call(control.url, owner, "POST", `/v1/projects/${project}/shares`, {}, { "idempotency-key": "one" });
  const [first, second] = [await make(), await make()];
  assert.equal(first.status, 201);
  assert.deepEqual(second.body, first.body);
});
