import assert from "node:assert/strict";
import { test } from "node:test";
import { limits, operationNames, operations } from "@holdfast/contract";
import { call, createKey, useControl } from "../../support/control.ts";
import { raw } from "../../support/raw.ts";
import { hangMs } from "../../support/until.ts";

const { control, owner } = await useControl({ allowHosts: ["holdfast.example", "other.example:8443"] });
const { secret: key } = await createKey(control, owner, "claude");

/** It is given up in its time; the other tests' time is its time. */
const slowHead = raw(control.port, "GET /v1/principal HTTP/1.1\r\nHost: loc", hangMs);

const statusOf = (reply: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1] ?? 0);

test("a browser at the root is told where it is; to programs there is nothing", async () => {
  const at = (accept: string, method = "GET") => fetch(`${control.url}/`, { method, headers: { accept } });
  const page = await at("text/html,application/xhtml+xml,*/*;q=0.8");
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; frame-ancestors 'none'/);
  const body = await page.text();
  for (const link of ["/reference", "/openapi.json", "/sign-in"])
    assert.ok(body.includes(`href="${link}"`), link);
  assert.match(body, /<code>\/mcp<\/code>/);
  assert.doesNotMatch(body, /<script|localhost|127\.0\.0\.1|[0-9]+\.[0-9]+\.[0-9]+/);
  for (const [accept, method] of [["*/*"], ["application/json"], ["text/html", "POST"]] as const) {
    const reply = await at(accept, method);
    assert.equal(reply.status, 404, accept);
    assert.equal(((await reply.json()) as { code: string }).code, "not_found");
  }
});

test("a head that could be read in two ways is refused before anything looks at it", async () => {
  const auth = `Authorization: Bearer ${key}\r\n`;
  const end = "Connection: close\r\n\r\n";
  const heads: Readonly<Record<string, string>> = {
    "two hosts": `GET /v1/principal HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n${auth}${end}`,
    "no host": `GET /v1/principal HTTP/1.1\r\n${auth}${end}`,
    "absolute form": `GET http://evil.test/v1/principal HTTP/1.1\r\nHost: localhost\r\n${auth}${end}`,
    userinfo: `GET /v1/principal HTTP/1.1\r\nHost: a@localhost\r\n${auth}${end}`,
    "dot segment": `GET /v1/%2e%2e/v1/principal HTTP/1.1\r\nHost: localhost\r\n${auth}${end}`,
    backslash: `GET /v1\\principal HTTP/1.1\r\nHost: localhost\r\n${auth}${end}`,
    "identity and chunked": `POST /v1/keys HTTP/1.1\r\nHost: localhost\r\n${auth}Transfer-Encoding: identity, chunked\r\n${end}0\r\n\r\n`,
    "length and chunked": `POST /v1/keys HTTP/1.1\r\nHost: localhost\r\n${auth}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n${end}0\r\n\r\n`,
    "two lengths": `POST /v1/keys HTTP/1.1\r\nHost: localhost\r\n${auth}Content-Length: 2\r\nContent-Length: 3\r\n${end}{}`,
    "two authorizations": `GET /v1/principal HTTP/1.1\r\nHost: localhost\r\n${auth}${auth}${end}`,
    "1.0 with chunks": `POST /v1/keys HTTP/1.0\r\nHost: localhost\r\n${auth}Transfer-Encoding: chunked\r\n${end}0\r\n\r\n`,
    "http/0.9": "GET /v1/principal\r\n\r\n",
    garbage: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    connect: `CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n${end}`,
    "h2c upgrade": `GET /v1/principal HTTP/1.1\r\nHost: localhost\r\n${auth}Upgrade: h2c\r\nConnection: upgrade\r\n\r\n`,
    "bare line feed in a header": `GET /v1/principal HTTP/1.1\r\nHost: localhost\nX: y\r\n${auth}${end}`,
  };
  for (const [name, head] of Object.entries(heads)) {
    const reply = await raw(control.port, head);
    assert.equal(statusOf(reply), 400, `${name}: ${reply.slice(0, 200)}`);
    assert.match(reply, /application\/problem\+json/, name);
  }
  const good = await raw(control.port, `GET /v1/principal HTTP/1.1\r\nHost: localhost\r\n${auth}${end}`);
  assert.equal(statusOf(good), 200);
});

test("only hosts on the allow-list are answered", async () => {
  const ask = async (host: string) =>
    statusOf(
      await raw(
        control.port,
        `GET /v1/principal HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
      ),
    );
  for (const host of [
    "localhost:7300",
    "127.0.0.1",
    "[::1]:80",
    "holdfast.example",
    "HOLDFAST.example:99",
    "other.example:8443",
  ])
    assert.equal(await ask(host), 200, host);
  for (const host of [
    "evil.test",
    "other.example",
    "localhost.evil.test",
    "127.0.0.2",
    "holdfast.example.evil.test",
  ])
    assert.equal(await ask(host), 403, host);
});

test("a foreign page is refused, whatever it carries", async () => {
  const port = control.port;
  const own = `http://127.0.0.1:${port}`;
  const cookie = `holdfast-session-7300=${owner}`;
  const ask = (headers: Record<string, string>) =>
    call(control.url, undefined, "GET", "/v1/session", undefined, headers);
  const allowed = [
    { cookie, origin: own },
    { cookie, "sec-fetch-site": "same-origin" },
    { cookie, "sec-fetch-site": "none" },
    { authorization: `Bearer ${owner}` },
    { authorization: `Bearer ${owner}`, origin: own },
  ];
  for (const headers of allowed) assert.equal((await ask(headers)).status, 200, JSON.stringify(headers));
  const refused = [
    { cookie },
    { cookie, origin: "http://evil.test" },
    { cookie, origin: "null" },
    { cookie, origin: `http://localhost:${port}` },
    { cookie, "sec-fetch-site": "cross-site" },
    { cookie, "sec-fetch-site": "same-site" },
    { authorization: `Bearer ${owner}`, origin: "http://evil.test" },
    { authorization: `Bearer ${key}`, origin: "http://evil.test" },
  ];
  for (const headers of refused) {
    const reply = await ask(headers);
    assert.deepEqual([reply.status, reply.body["code"]], [403, "origin_refused"], JSON.stringify(headers));
  }
  const twice = await ask({ cookie: `${cookie}; ${cookie}`, origin: own });
  assert.equal(twice.status, 401);
  const keyAsCookie = await ask({ cookie: `holdfast-session-7300=${key}`, origin: own });
  assert.equal(keyAsCookie.status, 401);
});

test("unknown paths and methods answer problems; HEAD is GET without a body", async () => {
  const nothing = await call(control.url, key, "GET", "/v1/nothing");
  assert.deepEqual([nothing.status, nothing.body["code"]], [404, "not_found"]);
  const method = await call(control.url, key, "PUT", "/v1/principal");
  assert.deepEqual([method.status, method.body["code"]], [405, "method_not_allowed"]);
  assert.equal(method.headers.get("allow"), "GET, HEAD");
  const head = await fetch(`${control.url}/v1/principal`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), "");
  const stream = await fetch(`${control.url}/v1/events`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(stream.status, 405);
});

test("a problem says what happened and what to do next", async () => {
  const reply = await call(control.url, undefined, "GET", "/v1/principal");
  assert.equal(reply.status, 401);
  assert.equal(reply.headers.get("content-type"), "application/problem+json");
  assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer/);
  for (const field of [
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "code",
    "retryable",
    "remedy",
    "details",
  ])
    assert.ok(field in reply.body, field);
});

test("bodies: JSON only, whole, within the limit; unknown fields and repeated queries are refused", async () => {
  const post = (body: string, headers: Record<string, string> = { "content-type": "application/json" }) =>
    fetch(`${control.url}/v1/keys`, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${owner}`, ...headers },
    });
  const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;
  assert.equal(await codeOf(await post("{")), "malformed_request");
  assert.equal(
    await codeOf(await post('{"name":"x"}', { "content-type": "text/plain" })),
    "malformed_request",
  );
  assert.equal(await codeOf(await post("[]")), "invalid_input");
  assert.equal(await codeOf(await post('{"name":"x","nmae":"y"}')), "invalid_input");
  assert.equal(await codeOf(await post('{"name":"x","__proto__":{"a":1}}')), "invalid_input");
  const large = await post(`{"name":"${"x".repeat(limits.jsonBodyBytes)}"}`).catch(() => undefined);
  if (large) assert.equal(large.status, 413);
  const twice = await call(control.url, owner, "GET", "/v1/keys?limit=1&limit=2");
  assert.equal(twice.body["code"], "invalid_input");
  const longUrl = await call(control.url, owner, "GET", `/v1/keys?cursor=${"x".repeat(limits.urlBytes)}`);
  assert.ok([413, 431].includes(longUrl.status));
});

test("replies say how many requests are left", async () => {
  const reply = await call(control.url, key, "GET", "/v1/principal");
  assert.match(reply.headers.get("ratelimit-policy") ?? "", /^"requests";q=\d+;w=60$/);
  assert.match(reply.headers.get("ratelimit") ?? "", /^"requests";r=\d+;t=\d+$/);
});

test("a principal over its rate waits, another does not", async () => {
  const greedy = (await createKey(control, owner, "greedy")).secret;
  let last = await call(control.url, greedy, "GET", "/v1/principal");
  for (let round = 0; last.status === 200 && round < 60; round += 1) {
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => call(control.url, greedy, "GET", "/v1/principal")),
    );
    last = replies.find((reply) => reply.status !== 200) ?? last;
  }
  assert.deepEqual([last.status, last.body["code"]], [429, "rate_limited"]);
  assert.ok(Number(last.headers.get("retry-after")) >= 1);
  assert.equal((await call(control.url, key, "GET", "/v1/principal")).status, 200);
});

test("lists are paged by cursors that only we can make", async () => {
  for (let index = 0; index < 5; index += 1) await createKey(control, owner, `paged-${index}`);
  const seen: string[] = [];
  let cursor = "";
  for (let page = 0; page < 20; page += 1) {
    const reply = await call(control.url, owner, "GET", `/v1/keys?limit=2${cursor}`);
    seen.push(...(reply.body["keys"] as { id: string }[]).map((one) => one.id));
    const next = reply.body["next_cursor"];
    if (typeof next !== "string") break;
    cursor = `&cursor=${next}`;
  }
  assert.ok(seen.length >= 6);
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual([...seen].sort().reverse(), seen);
  const forged = await call(control.url, owner, "GET", "/v1/keys?cursor=bm90IG91cnM");
  assert.equal(forged.body["code"], "invalid_input");
});

test("an idempotency key is a structured string or a bare token; anything else is refused", async () => {
  const create = (header: string) =>
    call(control.url, owner, "POST", "/v1/keys", { name: "idem" }, { "idempotency-key": header });
  const first = await create("abc-1");
  assert.equal((await create('"abc-1"')).body["secret"], first.body["secret"]);
  for (const bad of ['"open', "a b", '""', "x".repeat(limits.idempotencyKeyLength + 1)])
    assert.equal((await create(bad)).body["code"], "malformed_request", bad);
});

test("every operation has a route, and every route asks who it is", async () => {
  for (const name of operationNames) {
    const { method, path } = operations[name].route;
    if (operations[name].scope === "public") continue;
    const reply = await call(control.url, undefined, method, path.replaceAll(/\{[a-z_]+\}/g, "x"));
    assert.equal(reply.status, 401, `${method} ${path}`);
  }
});

test("a head that does not come whole is cut off, and told so", async () => {
  assert.equal(statusOf(await slowHead), 400);
});

test("the control app holds its connections when one reader stalls", async () => {
  const stalled = raw(
    control.port,
    `GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    700,
  );
  const reply = await call(control.url, key, "GET", "/v1/principal");
  assert.equal(reply.status, 200);
  assert.match(await stalled, /text\/event-stream/);
});
