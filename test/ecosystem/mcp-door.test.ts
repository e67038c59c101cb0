import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "@holdfast/contract";
import {
  type CallToolResult,
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { call, createKey, enrolOwner, startControl, type TestControl } from "../support/control.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { hangMs } from "../support/until.ts";

const closing: (() => Promise<void>)[] = [];
let postgres: TestPostgres;
let control: TestControl;
let owner: string;
let key: string;

before(async () => {
  postgres = await startPostgres();
  control = await startControl({ after: (work) => void closing.push(work as () => Promise<void>) }, postgres);
  owner = await enrolOwner(control);
  key = (await createKey(control, owner, "helper")).secret;
});

after(async () => {
  for (const close of closing) await close();
  await postgres.stop();
});

/** The official client; `legacy` is the 2025 handshake, as most clients have it today. */
const connect = async (token: string, mode: "legacy" | { pin: string }): Promise<Client> => {
  const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
  const url = new URL(`${control.url}/mcp`);
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
      // A restarted test control has another port; for the client the address stays.
      fetch: (target, init) => fetch(String(target).replace(url.origin, control.url), init),
    }),
  );
  return client;
};

const textOf = (result: CallToolResult): string =>
  result.content.map((part) => (part.type === "text" ? part.text : "")).join("");

for (const [era, mode] of [
  ["2025", "legacy"],
  ["2026-07-28", { pin: "2026-07-28" }],
] as const) {
  test(`${era}: the official client lists and calls`, async () => {
    const client = await connect(key, mode);
    assert.match(client.getInstructions() ?? "", /computer_list/);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "whoami"));
    const result = await client.callTool({ name: "whoami", arguments: {} });
    assert.match(textOf(result), /^You are assistant helper/);
    assert.equal((result.structuredContent as { kind: string }).kind, "assistant");
    await client.close();
  });

  test(`${era}: input that does not fit is a result a model can act on`, async () => {
    const client = await connect(key, mode);
    const result = await client.callTool({ name: "record_list", arguments: { limit: 0 } });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /^invalid_input: /);
    assert.match(textOf(result), /What to do next: /);
    assert.deepEqual(result._meta?.["holdfast/error"], { code: "invalid_input", retryable: false });
    await client.close();
  });

  test(`${era}: an unknown tool is an error of the protocol, and so is an owner's operation`, async () => {
    const client = await connect(key, mode);
    for (const name of ["nothing", "key_create", "session_get", "toString"]) {
      await assert.rejects(
        client.request({ method: "tools/call", params: { name, arguments: {} } }),
        (error) =>
          error instanceof ProtocolError && error.code === -32602 && error.message.includes("Unknown tool"),
        name,
      );
    }
    await client.close();
  });

  test(`${era}: nobody sees an owner's tools, not even an owner`, async () => {
    for (const token of [key, owner]) {
      const client = await connect(token, mode);
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.deepEqual(
        names.filter((name) => /^(key|owner|session)_/.test(name)),
        [],
      );
      await client.close();
    }
  });
}

const post = (headers: Readonly<Record<string, string>>, body: unknown): Promise<Response> =>
  fetch(`${control.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const modern = (method: string, params: Readonly<Record<string, unknown>> = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});
const modernHeaders = (method: string) => ({ "mcp-protocol-version": "2026-07-28", "mcp-method": method });

test("without a valid key: 401, a bearer challenge, and no OAuth metadata to be led astray by", async () => {
  for (const [headers, challenge] of [
    [{}, 'Bearer realm="holdfast"'],
    [{ authorization: "Bearer hf_wrong" }, 'Bearer realm="holdfast", error="invalid_token"'],
    [{ authorization: `Basic ${btoa(`x:${key}`)}` }, 'Bearer realm="holdfast", error="invalid_token"'],
    // A token of somebody else's making: three base64 parts and a signature.
    [
      { authorization: "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJvdGhlciJ9." },
      'Bearer realm="holdfast", error="invalid_token"',
    ],
  ] as const) {
    const reply = await post(headers, modern("tools/list"));
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get("www-authenticate"), challenge);
  }
  for (const path of [
    "oauth-protected-resource",
    "oauth-protected-resource/mcp",
    "oauth-authorization-server",
  ]) {
    assert.equal((await fetch(`${control.url}/.well-known/${path}`)).status, 404);
  }
});

test("a revoked key is refused within a second, also in the middle of a conversation", async (context) => {
  const made = await createKey(control, owner, "short-lived");
  const client = await connect(made.secret, { pin: "2026-07-28" });
  await client.callTool({ name: "whoami", arguments: {} });
  assert.equal((await call(control.url, owner, "DELETE", `/v1/keys/${made.id}`)).status, 200);
  const began = performance.now();
  for (;;) {
    const reply = await post(
      { authorization: `Bearer ${made.secret}`, ...modernHeaders("tools/list") },
      modern("tools/list"),
    );
    await reply.body?.cancel();
    if (reply.status === 401) break;
    assert.ok(performance.now() - began < hangMs, "still let in");
  }
  context.diagnostic(`refused ${Math.round(performance.now() - began)} ms after the revocation's reply`);
  await client.close();
});

test("a page of another origin is refused before anything else", async () => {
  const reply = await post(
    { authorization: `Bearer ${key}`, origin: "https://evil.example" },
    modern("tools/list"),
  );
  assert.equal(reply.status, 403);
});

test("headers that say something else than the body are refused with -32020", async () => {
  const headers = { authorization: `Bearer ${key}`, ...modernHeaders("tools/call") };
  const reply = await post(headers, modern("tools/list"));
  assert.equal(reply.status, 400);
  assert.equal(((await reply.json()) as { error: { code: number } }).error.code, -32020);
});

test("a body over 4 MiB is refused, one just under it is read", async () => {
  const authorization = `Bearer ${key}`;
  const padded = (size: number): string => {
    const empty = JSON.stringify(modern("tools/list", { pad: "" }));
    return empty.replace('"pad":""', `"pad":"${"x".repeat(size - empty.length)}"`);
  };
  const headers = { authorization, ...modernHeaders("tools/list") };
  assert.equal((await post(headers, padded(limits.jsonBodyBytes))).status, 200);
  assert.equal((await post(headers, padded(limits.jsonBodyBytes + 1))).status, 413);
});

test("methods of sessions are refused: every request stands alone", async () => {
  for (const method of ["GET", "DELETE"]) {
    const reply = await fetch(`${control.url}/mcp`, { method, headers: { authorization: `Bearer ${key}` } });
    assert.equal(reply.status, 405, method);
  }
});

test("a restart of control is only a pause for clients of both eras", async () => {
  const clients = await Promise.all([connect(key, "legacy"), connect(key, { pin: "2026-07-28" })]);
  for (const client of clients) await client.callTool({ name: "whoami", arguments: {} });
  await control.restart();
  for (const client of clients) {
    assert.match(textOf(await client.callTool({ name: "whoami", arguments: {} })), /helper/);
    await client.close();
  }
});
