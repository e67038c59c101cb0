import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, operations } from "@holdfast/contract";
import type { Dispatch, DispatchRequest } from "../../domain/dispatch.ts";
import type { Credential } from "../../domain/principal.ts";
import { callTool } from "./call.ts";
import { callersOf, type PrincipalCaller } from "./door.ts";
import { createTools } from "./tools.ts";

const caller = { token: "hf_x", address: "127.0.0.1", hold: { release: () => 0 } } as PrincipalCaller;

/** The key that dispatch is given for a call of `exec`, or the code with which its input is refused there. */
const keyOf = async (given: Readonly<Record<string, unknown>>): Promise<string | undefined> => {
  const entry = createTools().find(({ operation }) => operation.name === "process.exec");
  assert.ok(entry);
  let asked: string | undefined;
  const dispatch = async (request: DispatchRequest) => {
    asked = await request
      .input(() => {})
      .then(
        () => request.idempotencyKey,
        (error: unknown) => (error instanceof HoldfastError ? error.code : String(error)),
      );
    return { ok: false, error: new HoldfastError("not_found", "none"), retryAfterMs: null };
  };
  await callTool(dispatch as unknown as Dispatch, entry, given, caller, new AbortController().signal);
  return asked;
};

test("an idempotency key is a text that names an act; null is none, and what else a model may put there is refused", async () => {
  assert.ok(operations["process.exec"].idempotent);
  assert.equal(await keyOf({}), undefined);
  assert.equal(await keyOf({ idempotency_key: null }), undefined);
  assert.equal(await keyOf({ idempotency_key: "act 1" }), "act 1");
  for (const key of ["", 1, false, {}, "x".repeat(201)])
    assert.equal(await keyOf({ idempotency_key: key }), "invalid_input");
});

test("who brings no key, or none of its form, is refused where it is recorded", async () => {
  const asked: Credential[] = [];
  const dispatch = {
    identify: (credential: Credential) => {
      asked.push(credential);
      return Promise.reject(new HoldfastError("unauthenticated", "no"));
    },
  } as unknown as Dispatch;
  const authenticate = callersOf(dispatch);
  for (const authorization of [undefined, "Basic eA==", "Bearer hf_x"]) {
    const headers = authorization === undefined ? {} : { authorization };
    assert.equal(
      await authenticate(new Request("http://localhost/mcp", { headers }), "127.0.0.1"),
      undefined,
    );
  }
  assert.deepEqual(asked, [{ kind: "none" }, { kind: "none" }, { kind: "bearer", token: "hf_x" }]);
});
