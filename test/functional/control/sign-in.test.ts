import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { createPassphrases } from "../../../packages/control/src/authority/passphrase.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { createPrincipalsModule } from "../../../packages/control/src/operations/principals.ts";
import type { Shared } from "../../../packages/control/src/modules.ts";
import { call, enrolOwner, passphrase, startControl, type TestControl } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";

const postgres = usePostgres();

/** Signs in from another address of this host. */
const signInFrom = (control: TestControl, localAddress: string, secret: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port: control.port,
        localAddress,
        method: "POST",
        path: "/v1/sessions",
        headers: { "content-type": "application/json" },
      },
      (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      },
    );
    asked.on("error", reject);
    asked.end(JSON.stringify({ name: "owner", passphrase: secret }));
  });

test("wrong passphrases lock out where they come from, not the owner elsewhere, a code, or a session", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  for (let wrong = 0; wrong < 10; wrong += 1)
    assert.equal(await signInFrom(control, "127.0.0.2", "not this one"), 401);
  assert.equal(await signInFrom(control, "127.0.0.2", passphrase), 429);
  assert.equal(await signInFrom(control, "127.0.0.3", passphrase), 201);

  for (let wrong = 0; wrong < 10; wrong += 1)
    assert.equal(await signInFrom(control, "127.0.0.1", "not this one"), 401);
  assert.equal(await signInFrom(control, "127.0.0.1", passphrase), 429);
  const confirm = (said: string) =>
    call(control.url, owner, "POST", "/v1/session/confirm", { passphrase: said });
  assert.equal((await confirm(passphrase)).status, 200);
  // A code is the way in for whom wrong passphrases keep out.
  assert.match(await enrolOwner(control), /^hfs_/);
});

test("a session's own confirmations are limited, and those of one owner over all networks", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const confirm = () =>
    call(control.url, owner, "POST", "/v1/session/confirm", { passphrase: "not this one" });
  for (let wrong = 0; wrong < 10; wrong += 1) assert.equal((await confirm()).status, 401);
  assert.equal((await confirm()).status, 429);
  await query(
    control.databaseUrl,
    `insert into login_attempts values ('owner owner', ${Date.now()}, 300)
     on conflict (subject) do update set window_start_ms = excluded.window_start_ms, attempts = 300`,
  );
  assert.equal(await signInFrom(control, "127.0.0.9", passphrase), 429);
});

/** Passphrases that are compared at once, and whose answer waits for the test. */
const held =
  (compared: PromiseWithResolvers<void>, go: PromiseWithResolvers<void>) =>
  (shared: Shared): readonly Module[] => {
    const passphrases = createPassphrases();
    return [
      createPrincipalsModule({
        ...shared,
        db: shared.store.db,
        passphrases: {
          hash: passphrases.hash,
          verify: async (said, hash) => {
            const right = await passphrases.verify(said, hash);
            compared.resolve();
            await go.promise;
            return right;
          },
        },
      }),
    ];
  };

test("a sign-in with the passphrase from before does not outlast a new enrolment", async (context) => {
  const compared = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const control = await startControl(context, postgres, { modules: held(compared, go) });
  await enrolOwner(control);
  const signingIn = call(control.url, undefined, "POST", "/v1/sessions", { name: "owner", passphrase });
  await compared.promise;
  const { code } = await control.app.host.loginCode();
  const anew = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code,
    passphrase: "another one altogether",
    public_key: Buffer.alloc(32, 8).toString("base64url"),
    sealed_key: "c2VhbGVk",
  });
  assert.equal(anew.status, 200);
  go.resolve();
  const late = await signingIn;
  assert.deepEqual([late.status, late.body["code"]], [401, "unauthenticated"]);
  const rows = await query(
    control.databaseUrl,
    "select count(*)::int as n from sessions where ended_at_ms is null",
  );
  assert.equal(rows[0]?.["n"], 1);
});
