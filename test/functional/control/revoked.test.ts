import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../../packages/control/src/domain/handler.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { call, createKey, enrolOwner, type Reply, startControl } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { hangMs, until } from "../../support/until.ts";

const postgres = usePostgres();

/** What waits of this test's control: `computer.get` as a good handler does, `computer.create` without a look at its signal. */
interface Waits {
  waiting: number;
  aborted: number;
  letGo: PromiseWithResolvers<void>;
}

const waiting =
  (waits: Waits) =>
  (shared: Shared): readonly Module[] => {
    const get: Handler<"computer.get">["run"] = (context) =>
      new Promise((_resolve, reject) => {
        waits.waiting += 1;
        context.signal.addEventListener("abort", () => {
          waits.aborted += 1;
          reject(context.signal.reason as Error);
        });
      });
    const create: Handler<"computer.create">["run"] = async () => {
      waits.waiting += 1;
      await waits.letGo.promise;
      return { output: {} as never, target: "cmp_00000000000000000000" };
    };
    return [
      ...coreModules(shared),
      { handlers: { "computer.get": { run: get }, "computer.create": { run: create } } },
    ];
  };

const start = async (context: Parameters<typeof startControl>[0]) => {
  const waits: Waits = { waiting: 0, aborted: 0, letGo: Promise.withResolvers() };
  const control = await startControl(context, postgres, { modules: waiting(waits) });
  const owner = await enrolOwner(control);
  return { waits, control, owner };
};

const ask = {
  get: (url: string, token: string) => call(url, token, "GET", "/v1/computers/x"),
  create: (url: string, token: string) => call(url, token, "POST", "/v1/computers", { name: "x" }),
  tool: async (url: string, token: string): Promise<Reply> => {
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "computer_create", arguments: { name: "y" } },
      }),
    });
    const text = await response.text();
    return {
      status: text.includes("unauthenticated") ? 401 : response.status,
      headers: response.headers,
      body: {},
    };
  },
};

/** Asks, waits until all are waiting, lets `end` end the credential, and answers when and how each was answered. */
const answersAfter = async (
  waits: Waits,
  asked: readonly (() => Promise<Reply>)[],
  end: () => Promise<unknown>,
): Promise<readonly Reply[]> => {
  waits.waiting = 0;
  const replies = Promise.all(asked.map((one) => one()));
  await until("all of them wait", () => waits.waiting === asked.length);
  await end();
  const began = performance.now();
  const answered = await replies;
  assert.ok(performance.now() - began < hangMs, `${performance.now() - began} ms`);
  return answered;
};

test("whoever waits for an answer while the key is revoked is refused within a second, at either door", async (context) => {
  const { waits, control, owner } = await start(context);
  const key = await createKey(control, owner, "claude");
  const other = await createKey(control, owner, "other");
  const others = ask.get(control.url, other.secret);
  const { secret } = key;
  await until("the other one waits", () => waits.waiting === 1);
  const replies = await answersAfter(
    waits,
    [ask.get, ask.create, ask.tool].map((way) => () => way(control.url, secret)),
    () => call(control.url, owner, "DELETE", `/v1/keys/${key.id}`),
  );
  assert.deepEqual(
    replies.map(({ status }) => status),
    [401, 401, 401],
  );
  assert.equal(waits.aborted, 1, "only the call of the revoked key was ended");
  // What had been admitted is done all the same, and recorded as what it was.
  waits.letGo.resolve();
  await until("the operations are recorded", async () => {
    const rows = await query(
      control.databaseUrl,
      "select outcome, error from operations where operation in ('computer.create', 'computer.get') order by outcome, error",
    );
    return (
      JSON.stringify(rows) ===
      JSON.stringify([
        { outcome: "failed", error: "unauthenticated" },
        { outcome: "succeeded", error: null },
        { outcome: "succeeded", error: null },
      ])
    );
  });
  await call(control.url, owner, "DELETE", `/v1/keys/${other.id}`);
  assert.equal((await others).status, 401);
});

test("the same when a session ends, its owner is removed, or a key expires", async (context) => {
  const { waits, control, owner } = await start(context);
  const invited = await call(control.url, owner, "POST", "/v1/owners", { name: "second" });
  const joined = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code: invited.body["code"],
    passphrase: "correct horse battery staple",
    public_key: Buffer.alloc(32, 1).toString("base64url"),
    sealed_key: "c2VhbGVk",
  });
  const second = String(joined.body["token"]);
  const { id } = invited.body["owner"] as { readonly id: string };
  const [removed] = await answersAfter(waits, [() => ask.get(control.url, second)], () =>
    call(control.url, owner, "DELETE", `/v1/owners/${id}`),
  );
  assert.equal(removed?.status, 401);
  const brief = await createKey(control, owner, "brief", { expires_in_ms: 60_000 });
  const [expired] = await answersAfter(waits, [() => ask.get(control.url, brief.secret)], () =>
    query(control.databaseUrl, `update keys set expires_at_ms = 1 where id = '${brief.id}'`),
  );
  assert.equal(expired?.status, 401);
  const [ended] = await answersAfter(waits, [() => ask.get(control.url, owner)], () =>
    call(control.url, owner, "DELETE", "/v1/session"),
  );
  assert.equal(ended?.status, 401);
});

test("a ceiling lowered below what the call needs ends it; one that still covers it does not", async (context) => {
  const { waits, control, owner } = await start(context);
  const key = await createKey(control, owner, "claude");
  const lower = (to: string) => () =>
    query(
      control.databaseUrl,
      `update keys set ceilings = jsonb_set(ceilings, '{consequence}', '"${to}"') where id = '${key.id}'`,
    );
  const looking = ask.get(control.url, key.secret);
  await until("it waits", () => waits.waiting === 1);
  const [refused] = await answersAfter(waits, [() => ask.create(control.url, key.secret)], lower("observe"));
  assert.deepEqual([refused?.status, refused?.body["code"]], [403, "forbidden"]);
  assert.equal(waits.aborted, 0);
  await call(control.url, owner, "DELETE", `/v1/keys/${key.id}`);
  assert.equal((await looking).status, 401);
  waits.letGo.resolve();
});

test("a credential that ends itself is told so", async (context) => {
  const { control, owner } = await start(context);
  const reply = await call(control.url, owner, "DELETE", "/v1/session");
  assert.deepEqual([reply.status, reply.body["ended"]], [200, true]);
});
