import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { limits } from "@holdfast/contract";
// oxlint-disable-next-line typescript/no-deprecated -- the door uses it too.
import { Server } from "@modelcontextprotocol/server";
import { callersOf } from "../../packages/control/src/doors/mcp/door.ts";
import { createMcpEndpoint, type McpEndpoint } from "../../packages/control/src/doors/mcp/endpoint.ts";
import { systemClock } from "@holdfast/kit";
import { call, createKey, useControl } from "../support/control.ts";
import { query } from "../support/query.ts";
import { until } from "../support/until.ts";

// Time that stands still refills nothing.
const { control, owner } = await useControl({ clock: { ...systemClock, monotonic: () => 1000 } });

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

/** What was refused to this principal so far, with how often. */
const refusedTo = async (principal: string): Promise<Readonly<Record<string, number>>> => {
  const rows = await query(
    control.databaseUrl,
    `select concat_ws(' ', operation, error, source) as what, count(*)::int as n from operations where principal_id = '${principal}' and outcome = 'refused' group by 1`,
  );
  return Object.fromEntries(rows.map(({ what, n }) => [String(what), Number(n)]));
};

test("97: what the MCP door refuses by itself is recorded like any refusal, and a flood of it within bounds", async () => {
  const greedy = await createKey(control, owner, "recorded");
  const large = { ...request("ping", 1), more: "x".repeat(limits.jsonBodyBytes) };
  assert.equal((await post(greedy.secret, large)).status, 413);
  const batch = Array.from({ length: 100 }, (_, id) => request("tools/call", id, { name: "none" }));
  const batches = limits.requestsPerWindow / batch.length;
  for (let sent = 0; sent < batches; sent += 1) assert.equal((await post(greedy.secret, batch)).status, 200);
  for (let sent = 0; sent < batches; sent += 1) assert.equal((await post(greedy.secret, batch)).status, 429);
  const door = (error: string): string => `mcp.request ${error} mcp 127.0.0.1`;
  await until("they are recorded", async () => {
    const refused = await refusedTo(greedy.assistant);
    // The last batch that was let in asked for one more than there was left.
    return refused[door("too_large")] === 1 && refused[door("rate_limited")] === batches + 1;
  });
  const { secret } = greedy;
  assert.equal((await post(`hf_${"x".repeat(43)}`, request("ping", 1))).status, 401);
  const waves = Array.from({ length: Math.ceil(limits.requestsPerWindow / 40) + 2 });
  for (const _ of waves)
    await Promise.all(Array.from({ length: 40 }, () => post(secret, request("ping", 1))));
  await until("no more than the window allows are recorded", async () => {
    const refused = await refusedTo(greedy.assistant);
    return (refused[door("rate_limited")] ?? 0) + 1 === limits.requestsPerWindow;
  });
  assert.deepEqual(await refusedTo("anonymous"), { [door("unauthenticated")]: 1 });
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
const listening = (context: TestContext): McpEndpoint => {
  const endpoint = createMcpEndpoint({
    factory: () =>
      // oxlint-disable-next-line typescript/no-deprecated -- as above.
      new Server({ name: "changes", version: "0" }, { capabilities: { tools: { listChanged: true } } }),
    authenticate: callersOf(control.app.dispatch),
    allowHost: () => true,
    allowOrigin: () => true,
    onError: () => {},
  });
  context.after(() => endpoint.close());
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

test("97: a subscription is a stream of its principal, and ends with its key", async (context) => {
  const key = await createKey(control, owner, "listener");
  const endpoint = listening(context);
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
