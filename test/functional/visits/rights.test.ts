import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { limits } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { call, createKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting, type Visiting } from "../../support/visits.ts";

const postgres = usePostgres();

const hour = 3600 * 1000;

/** Four credentials with a right on one project, each found, and what ends them. */
const startWithRights = async (context: TestContext) => {
  const time = { shiftMs: 0 };
  const clock = { ...systemClock, now: () => Date.now() + time.shiftMs };
  const visiting = await startVisiting(context, postgres, { clock });
  const { key, trade } = visiting;
  const project = await visiting.project("shop");
  const session = await visiting.signIn();
  const share = await visiting.share(project, { expires_in_ms: 2 * hour });
  const cookies = {
    ticket: await trade("ticket", project, await visiting.ticket(session, project)),
    share: await trade("share", project, share.token),
  };
  const credentials = {
    "owner's visit": { kind: "cookie", token: cookies.ticket ?? "" },
    "share's visit": { kind: "cookie", token: cookies.share ?? "" },
    "assistant's key": { kind: "header", token: key.secret },
    "owner's session": { kind: "header", token: session },
  } as const;
  const find = async (): Promise<Readonly<Record<string, string>>> => {
    const found: Record<string, string> = {};
    for (const [name, { kind, token }] of Object.entries(credentials)) {
      const right = await visiting.right(kind, project, token);
      if (right) found[name] = right.id;
    }
    return found;
  };
  return { visiting, time, project, session, share, find };
};

type Started = Awaited<ReturnType<typeof startWithRights>>;

const all = ["owner's visit", "share's visit", "assistant's key", "owner's session"];

/** What ends which rights; all others stay. */
const endings: readonly {
  readonly what: string;
  readonly ends: readonly string[];
  readonly end: (started: Started) => Promise<unknown>;
}[] = [
  {
    what: "signing out",
    ends: ["owner's visit", "owner's session"],
    end: ({ visiting, session }) => call(visiting.control.url, session, "DELETE", "/v1/session"),
  },
  {
    what: "the owner's removal",
    ends: ["owner's visit", "owner's session"],
    // Without ending the sessions, as the API does too: this alone must be enough.
    end: ({ visiting }) => visiting.sql("update owners set state = 'removed'"),
  },
  {
    what: "the key's revocation",
    ends: ["assistant's key"],
    end: ({ visiting }) =>
      call(visiting.control.url, visiting.owner, "DELETE", `/v1/keys/${visiting.key.id}`),
  },
  {
    what: "the key's end",
    ends: ["assistant's key"],
    end: ({ visiting }) => visiting.sql("update keys set expires_at_ms = 1"),
  },
  {
    what: "the share's revocation",
    ends: ["share's visit"],
    end: ({ visiting, project, share }) =>
      call(visiting.control.url, visiting.owner, "DELETE", `/v1/projects/${project}/shares/${share.id}`),
  },
  {
    what: "the share's end, after two hours",
    ends: ["share's visit"],
    end: ({ time }) => Promise.resolve((time.shiftMs = 2 * hour)),
  },
  {
    what: "the end of all sessions, after twelve hours",
    ends: ["owner's visit", "share's visit", "owner's session"],
    end: ({ time }) => Promise.resolve((time.shiftMs = limits.visitSessionMs)),
  },
  {
    what: "the project's destruction",
    ends: all,
    end: ({ visiting }) => visiting.sql("update projects set state = 'destroyed', destroyed_at_ms = 1"),
  },
];

for (const { what, ends, end } of endings)
  test(`${what} ends ${ends.join(" and ")}, and no other right`, async (context) => {
    const started = await startWithRights(context);
    const { visiting, find } = started;
    const before = await find();
    assert.deepEqual(Object.keys(before), all);
    const ids = Object.values(before);
    assert.deepEqual((await visiting.gateway.call("right.hold", { ids })).held.sort(), [...ids].sort());
    await end(started);
    const staying = all.filter((name) => !ends.includes(name));
    assert.deepEqual(Object.keys(await find()), staying);
    assert.deepEqual(
      (await visiting.gateway.call("right.hold", { ids })).held.sort(),
      staying.map((name) => before[name] ?? "").sort(),
    );
  });

test("a share's link that has run out opens nothing", async (context) => {
  const { visiting, time, project, share } = await startWithRights(context);
  assert.notEqual(await visiting.trade("share", project, share.token), null);
  time.shiftMs = 2 * hour;
  assert.equal(await visiting.trade("share", project, share.token), null);
});

test("a right says whose it is, and what it reaches", async (context) => {
  const { visiting, project, session, share } = await startWithRights(context);
  const cookie = async (kind: "ticket" | "share", token: string) =>
    visiting.right("cookie", project, (await visiting.trade(kind, project, token)) ?? "");
  const owner = await cookie("ticket", await visiting.ticket(session, project));
  assert.equal(owner?.who, "owner");
  assert.match(owner.subject, /^own_/);
  assert.equal(owner.ports, true);
  const guest = await cookie("share", share.token);
  assert.deepEqual([guest?.who, guest?.subject, guest?.ports], ["share", share.id, false]);
  const assistant = await visiting.right("header", project, visiting.key.secret);
  assert.deepEqual(
    [assistant?.who, assistant?.subject, assistant?.ports],
    ["assistant", visiting.key.assistant, true],
  );
});

test("rights are on one project alone", async (context) => {
  const { visiting, project, session, share } = await startWithRights(context);
  const { control, owner, right, trade } = visiting;
  const stranger = await createKey(control, owner, "stranger");
  const other = await visiting.project("other", stranger.assistant);
  const cookie = (await trade("ticket", project, await visiting.ticket(session, project))) ?? "";
  const ticket = await visiting.ticket(session, project);

  assert.equal(await right("cookie", other, cookie), null);
  assert.equal(await trade("ticket", other, ticket), null, "a ticket is of one project");
  assert.equal(await trade("share", other, share.token), null);
  assert.equal(await right("header", other, visiting.key.secret), null);
  assert.equal(await right("header", project, stranger.secret), null);
  assert.equal((await right("header", other, stranger.secret))?.who, "assistant");
  assert.equal((await right("header", other, session))?.who, "owner");
  // Shown at the wrong place it was not spent.
  assert.notEqual(await trade("ticket", project, ticket), null);

  const [id] = await visiting.sql("select id from visit_sessions limit 1");
  const made = `${String(id?.["id"])}@${other}`;
  assert.deepEqual((await visiting.gateway.call("right.hold", { ids: [made] })).held, []);
});

test("an owner of another account has no right", async (context) => {
  const { visiting, project, session } = await startWithRights(context);
  const cookie = (await visiting.trade("ticket", project, await visiting.ticket(session, project))) ?? "";
  await visiting.sql("insert into accounts (id, name, created_at_ms) values ('acc_other', 'other', 0)");
  await visiting.sql("update projects set account_id = 'acc_other'");
  assert.equal(await visiting.right("cookie", project, cookie), null);
  assert.equal(await visiting.right("header", project, session), null);
  assert.equal(await visiting.right("header", project, visiting.key.secret), null);
});

test("each token is good in its own place only, and only as it is", async (context) => {
  const { visiting, project, session, share } = await startWithRights(context);
  const { right, trade, key } = visiting;
  const ticket = await visiting.ticket(session, project);
  const cookie = (await trade("share", project, share.token)) ?? "";
  for (const token of [
    ticket,
    share.token,
    key.secret,
    session,
    "hfv_",
    "-",
    `${cookie}x`,
    cookie.slice(0, -1),
  ])
    assert.equal(await right("cookie", project, token), null, token);
  for (const token of [ticket, share.token, cookie, "Bearer x"])
    assert.equal(await right("header", project, token), null, token);
  for (const token of [share.token, cookie, key.secret, session])
    assert.equal(await trade("ticket", project, token), null, token);
  for (const token of [ticket, cookie, key.secret, session])
    assert.equal(await trade("share", project, token), null, token);
});

test("no token is kept that could be used", async (context) => {
  const { visiting, project, session, share } = await startWithRights(context);
  const ticket = await visiting.ticket(session, project);
  const cookie = (await visiting.trade("share", project, share.token)) ?? "";
  for (const table of ["tickets", "shares", "visit_sessions", "events", "operations", "idempotency_keys"]) {
    const text = JSON.stringify(await visiting.sql(`select * from ${table}`));
    for (const token of [ticket, share.token, cookie]) {
      assert.ok(!text.includes(token), table);
      assert.ok(!text.includes(token.slice(4)), table);
    }
  }
});

const spend = (visiting: Visiting, project: string, token: string, times: number) =>
  Promise.all(Array.from({ length: times }, () => visiting.trade("ticket", project, token)));

test("a ticket that is used many times at once opens one visit", async (context) => {
  const { visiting, project, session } = await startWithRights(context);
  for (let round = 0; round < 10; round += 1) {
    const opened = await spend(visiting, project, await visiting.ticket(session, project), 20);
    assert.equal(opened.filter((token) => token !== null).length, 1);
  }
});

test("a ticket is good for a minute, while its session is", async (context) => {
  const { visiting, time, project, session } = await startWithRights(context);
  const late = await visiting.ticket(session, project);
  time.shiftMs = limits.ticketMs;
  assert.equal(await visiting.trade("ticket", project, late), null);
  const orphan = await visiting.ticket(session, project);
  await call(visiting.control.url, session, "DELETE", "/v1/session");
  assert.equal(await visiting.trade("ticket", project, orphan), null);
});

test("a share opens as many visits as there may be; who trades it over and over ends nobody else's", async (context) => {
  const { visiting, project, share } = await startWithRights(context);
  const { sql } = visiting;
  const quiet = await visiting.share(project);
  const cookie = (await visiting.trade("share", project, quiet.token)) ?? "";
  await sql(
    `insert into visit_sessions (id, project_id, token_hash, share_id, created_at_ms, expires_at_ms)
     select 'vis_' || number, $1, sha256(number::text::bytea), $2, number, 9000000000000
     from generate_series(1, $3) as number`,
    [project, share.id, limits.visitSessionsPerProject],
  );
  const fresh = (await visiting.trade("share", project, share.token)) ?? "";
  assert.equal((await visiting.right("cookie", project, fresh))?.subject, share.id);
  assert.equal((await visiting.right("cookie", project, cookie))?.subject, quiet.id);
  const [held] = await sql("select count(*)::int as held from visit_sessions");
  assert.deepEqual(held, { held: limits.visitSessionsPerProject });
});

test("hold takes as many as it may, and nothing in place of an id makes it fail", async (context) => {
  const { visiting, find } = await startWithRights(context);
  const [id = ""] = Object.values(await find());
  const odd = ["", "x", "@", "vis_@prj_", "'; drop table keys; --", id.toUpperCase(), `${id} `, `${id}\0`];
  const many = Array.from({ length: limits.rightsPerCheck - odd.length }, () => id);
  // An empty id does not fit the contract; the rest is judged.
  const { held } = await visiting.gateway.call("right.hold", { ids: [...odd.slice(1), ...many] });
  assert.deepEqual([...new Set(held)], [id]);
});

test("rights outlive a restart of control", async (context) => {
  const { visiting, project, session, find } = await startWithRights(context);
  const before = await find();
  const ticket = await visiting.ticket(session, project);
  await visiting.control.restart();
  assert.deepEqual(await find(), before);
  assert.notEqual(await visiting.trade("ticket", project, ticket), null);
});
