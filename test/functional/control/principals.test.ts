import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  createKey,
  enrolOwner,
  passphrase,
  startControl,
  startWithKey,
} from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { hangMs } from "../../support/until.ts";

const postgres = usePostgres();

test("a one-time code enrols the first owner, once", async (context) => {
  const control = await startControl(context, postgres);
  const { code } = await control.app.host.loginCode();
  const enrol = () =>
    call(control.url, undefined, "POST", "/v1/sessions/enrol", {
      code,
      passphrase,
      public_key: Buffer.alloc(32).toString("base64url"),
      sealed_key: "c2VhbGVk",
    });
  const replies = await Promise.all([enrol(), enrol()]);
  assert.deepEqual(
    replies.map((reply) => reply.status).sort((a, b) => a - b),
    [200, 403],
  );
  const unknown = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code: "WRONG-CODE",
    passphrase,
    public_key: Buffer.alloc(32).toString("base64url"),
    sealed_key: "c2VhbGVk",
  });
  // A code that was used and one that never was are told apart by nobody.
  const used = replies.find((reply) => reply.status === 403)?.body ?? {};
  for (const field of ["code", "title", "detail", "remedy", "details"])
    assert.deepEqual(unknown.body[field], used[field], field);
  assert.equal(unknown.status, 403);
  assert.equal(used["code"], "code_refused");
  assert.match(String(used["remedy"]), /holdfast owner login/);
  assert.doesNotMatch(JSON.stringify(used), /Bearer/);
  const token = String(replies.find((reply) => reply.status === 200)?.body["token"]);
  assert.match(token, /^hfs_/);
  const session = await call(control.url, token, "GET", "/v1/session");
  assert.equal(session.status, 200);
  assert.equal((session.body["owner"] as { state: string }).state, "active");
  const again = await call(control.url, undefined, "POST", "/v1/sessions", { name: "owner", passphrase });
  assert.equal(again.status, 201);
  assert.match(
    again.headers.get("set-cookie") ?? "",
    /holdfast-session-7300=hfs_.*HttpOnly; SameSite=Strict/,
  );
});

test("a new code voids the one before it, and an old one is refused", async (context) => {
  const control = await startControl(context, postgres);
  const first = await control.app.host.loginCode();
  await control.app.host.loginCode();
  const reply = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code: first.code,
    passphrase,
    public_key: Buffer.alloc(32).toString("base64url"),
    sealed_key: "c2VhbGVk",
  });
  assert.deepEqual([reply.status, reply.body["code"]], [403, "code_refused"]);
});

test("a key is shown once, works, and is refused within a second after it was revoked", async (context) => {
  const { control, owner, key } = await startWithKey(context, postgres);
  assert.match(key.secret, /^hf_[A-Za-z0-9_-]{43}$/);
  const who = await call(control.url, key.secret, "GET", "/v1/principal");
  assert.equal(who.status, 200);
  assert.equal(who.body["kind"], "assistant");
  assert.equal(who.body["computers"], 0);
  const list = await call(control.url, owner, "GET", "/v1/keys");
  assert.ok(!JSON.stringify(list.body).includes(key.secret));

  const revoked = await call(control.url, owner, "DELETE", `/v1/keys/${key.id}`);
  assert.equal(revoked.body["state"], "revoked");
  const began = performance.now();
  let status = 200;
  while (status === 200 && performance.now() - began < hangMs)
    status = (await call(control.url, key.secret, "GET", "/v1/principal")).status;
  assert.equal(status, 401);
  context.diagnostic(`refused ${Math.round(performance.now() - began)} ms after the revocation's reply`);
});

test("an assistant reaches nothing of the owners', and cannot tell that it exists", async (context) => {
  const { control, key } = await startWithKey(context, postgres);
  const tries = [
    ["GET", "/v1/keys"],
    ["POST", "/v1/keys"],
    ["DELETE", `/v1/keys/${key.id}`],
    ["GET", "/v1/owners"],
    ["POST", "/v1/owners"],
    ["GET", "/v1/session"],
    ["POST", "/v1/session/confirm"],
  ] as const;
  for (const [method, path] of tries) {
    const reply = await call(control.url, key.secret, method, path, method === "POST" ? {} : undefined);
    assert.equal(reply.status, 404, `${method} ${path}`);
    assert.equal(reply.body["code"], "not_found");
  }
});

test("ceilings of class and expiry hold", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const looking = await createKey(control, owner, "looker", { ceilings: { consequence: "observe" } });
  assert.equal((await call(control.url, looking.secret, "GET", "/v1/records")).status, 200);
  const refused = await call(control.url, looking.secret, "POST", "/v1/computers", { name: "x" });
  // 404 while no module offers computers, 403 once one does: never allowed.
  assert.ok([403, 404].includes(refused.status));
  const short = await call(control.url, owner, "POST", "/v1/keys", { name: "short", expires_in_ms: 1 });
  assert.equal(short.status, 400);
});

test("owners are invited, listed and removed; the last one stays", async (context) => {
  const control = await startControl(context, postgres);
  const first = await enrolOwner(control);
  const invited = await call(control.url, first, "POST", "/v1/owners", { name: "second" });
  assert.equal(invited.status, 200);
  assert.equal(
    (await call(control.url, first, "POST", "/v1/owners", { name: "second" })).body["code"],
    "name_taken",
  );
  const joined = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code: invited.body["code"],
    passphrase,
    public_key: Buffer.alloc(32, 1).toString("base64url"),
    sealed_key: "c2VhbGVk",
  });
  assert.equal(joined.status, 200);
  const second = String(joined.body["token"]);
  const owners = (await call(control.url, second, "GET", "/v1/owners")).body["owners"] as {
    id: string;
    name: string;
  }[];
  assert.deepEqual(owners.map((one) => one.name).sort(), ["owner", "second"]);
  const idOf = (name: string) => owners.find((one) => one.name === name)?.id ?? "";
  // Each removes the other at once: exactly one may win.
  const removals = await Promise.all([
    call(control.url, first, "DELETE", `/v1/owners/${idOf("second")}`),
    call(control.url, second, "DELETE", `/v1/owners/${idOf("owner")}`),
  ]);
  const [won, lost] = removals.map((reply) => reply.status).sort((a, b) => a - b);
  assert.equal(won, 200);
  // Whose session has ended by then is told that, before it is judged who is the last one.
  assert.ok(lost === 401 || lost === 409, String(lost));
  const survivors = await Promise.all(
    [first, second].map(async (token) => (await call(control.url, token, "GET", "/v1/session")).status),
  );
  assert.deepEqual(
    survivors.sort((a, b) => a - b),
    [200, 401],
  );
});

test("a session asks for the passphrase again after five minutes", async (context) => {
  let offsetMs = 0;
  const { systemClock } = await import("@holdfast/kit");
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + offsetMs,
    monotonic: () => systemClock.monotonic() + offsetMs,
  };
  const control = await startControl(context, postgres, { clock });
  const owner = await enrolOwner(control);
  await createKey(control, owner, "one");
  offsetMs = 5 * 60_000 + 1000;
  const late = await call(control.url, owner, "POST", "/v1/keys", { name: "two" });
  assert.equal(late.body["code"], "confirmation_required");
  assert.equal(
    (await call(control.url, owner, "POST", "/v1/session/confirm", { passphrase: "wrong" })).status,
    401,
  );
  assert.equal((await call(control.url, owner, "POST", "/v1/session/confirm", { passphrase })).status, 200);
  assert.equal((await call(control.url, owner, "POST", "/v1/keys", { name: "two" })).status, 201);
  assert.deepEqual((await call(control.url, owner, "DELETE", "/v1/session")).body, { ended: true });
  assert.equal((await call(control.url, owner, "GET", "/v1/session")).status, 401);
});

test("sign-in attempts are limited and recorded", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const wrong = () =>
    call(control.url, undefined, "POST", "/v1/sessions", { name: "owner", passphrase: "not this one" });
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal((await wrong()).status, 401);
  const limited = await wrong();
  assert.equal(limited.status, 429);
  assert.ok(Number(limited.headers.get("retry-after")) > 60);
  await new Promise((resolve) => setTimeout(resolve, 250));
  const records = await call(control.url, owner, "GET", "/v1/records?operation=session.create&limit=100");
  const outcomes = (records.body["records"] as { outcome: string }[]).map((record) => record.outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "failed").length, 10);
  assert.equal(outcomes.filter((outcome) => outcome === "refused").length, 1);
});
