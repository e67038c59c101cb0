import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import { createAuthority } from "./identify.ts";

/** An authority on a clock that stands still, which hears of no change, and whose look-ups end as `find` does. */
const authorityOver = (find: () => Promise<unknown>) => {
  const statement: object = new Proxy(
    {},
    { get: (_target, name) => (name === "executeTakeFirst" ? find : () => statement) },
  );
  return createAuthority({
    db: { selectFrom: () => statement },
    clock: { now: () => 0, monotonic: () => 0 },
    listener: { on: () => {} },
  } as unknown as Parameters<typeof createAuthority>[0]);
};

/** Answers the codes that ever new keys of one network get. */
const strangers = (find: () => Promise<undefined>) => {
  const authority = authorityOver(find);
  return async (count: number): Promise<readonly string[]> => {
    const codes = new Set<string>();
    for (let sent = 0; sent < count; sent += 1) {
      const token = `hf_${randomBytes(32).toString("base64url")}`;
      await authority
        .identify({ kind: "bearer", token }, { door: "http", address: "192.0.2.1" })
        .catch((error: unknown) => codes.add(error instanceof HoldfastError ? error.code : "another"));
    }
    return [...codes];
  };
};

test("whose key could not be looked up is no stranger: what was taken for it is given back", async () => {
  let away = true;
  const answers = strangers(() =>
    away ? Promise.reject(new HoldfastError("unavailable", "no database")) : Promise.resolve(undefined),
  );
  const most = limits.unknownCredentialsPerWindow;
  assert.deepEqual(await answers(2 * most), ["unavailable"]);
  away = false;
  assert.deepEqual(await answers(most), ["unauthenticated"]);
  assert.deepEqual(await answers(1), ["rate_limited"]);
});

test("a session is confirmed with the answer that says so, however long the notice of it takes", async () => {
  const row = { id: "ses_1", account_id: "acc_1", name: "owner", owner_id: "own_1", expires_at_ms: 1000 };
  let confirmedUntilMs = 0;
  let searched = 0;
  const authority = authorityOver(() => {
    searched += 1;
    return Promise.resolve({ ...row, confirmed_until_ms: confirmedUntilMs });
  });
  const token = `hfs_${randomBytes(32).toString("base64url")}`;
  const seen = async () =>
    (await authority.identify({ kind: "bearer", token }, { door: "http", address: "192.0.2.1" }))
      .confirmedUntilMs;
  assert.equal(await seen(), 0);
  confirmedUntilMs = 500;
  assert.equal(await seen(), 500);
  assert.equal(await seen(), 500);
  assert.equal(searched, 2, "a confirmed one is served from memory");
});
