import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "@holdfast/contract";
// oxlint-disable-next-line typescript/no-deprecated -- the door uses it too.
import { Server } from "@modelcontextprotocol/server";
import { callersOf } from "../../packages/control/src/doors/mcp/door.ts";
import { createMcpEndpoint, type McpEndpoint } from "../../packages/control/src/doors/mcp/endpoint.ts";
import { systemClock } from "@holdfast/kit";
import { call, createKey, enrolOwner, startControl, type TestControl } from "../support/control.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

let postgres: TestPostgres;
let control: TestControl;
let owner: string;
const cleanups: (() => unknown)[] = [];
before(async () => {
  postgres = await startPostgres();
  control = await startControl(
    { after: (work) => void cleanups.unshift(work as () => unknown) },
    postgres,
    // Time that stands still refills nothing.
    { clock: { ...systemClock, monotonic: () => 1000 } },
  );
  owner = await enrolOwner(control);
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
  await postgres.stop();
});

const headers = (token: string) => ({
  authorization: `Bearer ${token}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
});
const post = (token: string, body: unknown): Promise<Response> =>
  fetch(`${control.url}/mcp`, {
    method: "POST",
    headers: { ...headers(token), "mcp-protocol-version": "2025-03-26" },
    body: JSON.stringify(body),
  });
const request = (method: string, id: number, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

/** Requests that are left to the owner of this key. */
const left = async (token: string): Promise<number> => {
  const reply = await call(control.url, token, "GET", "/v1/principal");
  return Number(/r=(\d+)/.exec(reply.headers.get("ratelimit") ?? "")?.[1]);
};

test("97: whatever is asked at the MCP door counts as a request, a tool's call once, a batch as all that it asks", async () => {
  const { secret } = await createKey(control, owner, "counted");
  const spent = async (body: unknown): Promise<number> => {
    const before = await left(secret);
    const reply = await post(secret, body);
    assert.equal(reply.status, 200, await reply.text());
    // The look itself is one.
    return before - (await left(secret)) - 1;
  };
  assert.equal(await spent(request("ping", 1)), 1);
  assert.equal(await spent(request("tools/list", 1)), 1);
  const tool = request("tools/call", 1, { name: "whoami", arguments: {} });
  assert.equal(await spent(tool), 1);
  assert.equal(await spent([tool, request("tools/list", 2), { ...tool, id: 3 }, { ...tool, id: 4 }]), 4);
});

test("97: who asks without end is told to wait, and another one is not", async () => {
  const greedy = await createKey(control, owner, "without-end");
  const modest = await createKey(control, owner, "modest");
  const batch = Array.from({ length: 100 }, (_, id) => request("tools/call", id, { name: "none" }));
  for (let sent = 0; sent < limits.requestsPerWindow; sent += batch.length)
    assert.equal((await post(greedy.secret, batch)).status, 200);
  const refused = await post(greedy.secret, request("ping", 1));
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /rate_limited/);
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.equal((await post(modest.secret, request("ping", 1))).status, 200);
});

/** The product's endpoint, for a server that has something to subscribe to. */
const listening = (): McpEndpoint => {
  const endpoint = createMcpEndpoint({
    factory: () =>
      // oxlint-disable-next-line typescript/no-deprecated -- as above.
      new Server({ name: "changes", version: "0" }, { capabilities: { tools: { listChanged: true } } }),
    authenticate: callersOf(control.app.dispatch),
    allowHost: () => true,
    allowOrigin: () => true,
    onError: () => {},
  });
  cleanups.unshift(() => endpoint.close());
  return endpoint;
};

const version = "2026-07-28";
const listen = (endpoint: McpEndpoint, token: string, id: number): Promise<Response> =>
  endpoint.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        ...headers(token),
        host: "localhost",
        "mcp-protocol-version": version,
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify(
        request("subscriptions/listen", id, {
          notifications: { toolsListChanged: true },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        }),
      ),
    }),
    "127.0.0.1",
    undefined,
  );

test("97: a subscription is a stream of its principal, and ends with its key", async () => {
  const key = await createKey(control, owner, "listener");
  const endpoint = listening();
  const open = await Promise.all(
    Array.from({ length: limits.concurrentStreamsPerPrincipal }, (_, id) => listen(endpoint, key.secret, id)),
  );
  for (const reply of open) assert.equal(reply.status, 200, reply.ok ? "" : await reply.text());
  const refused = await listen(endpoint, key.secret, 1000);
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /limit_reached/);
  // One that its reader leaves makes room for another.
  await open[0]?.body?.cancel();
  const next = await listen(endpoint, key.secret, 1001);
  assert.equal(next.status, 200);
  let over = 0;
  const ended = [...open.slice(1), next].map(async (reply) => {
    await reply.text();
    over += 1;
  });
  assert.equal(over, 0);
  await call(control.url, owner, "DELETE", `/v1/keys/${key.id}`);
  await until("all of them are over", () => over === ended.length, { withinMs: 1000 });
});
