import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import {
  bodyOf,
  domain,
  everything,
  startBed,
  startTestApp,
  statusOf,
  until,
} from "../../../../../test/support/gateway/bed.ts";

test("a published project answers, a private one answers whoever has a right, and nobody else anything", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const open = await bed.project("open", app.port, everything);
  const shut = await bed.project("shut", app.port);
  shut.allow("header", "hf_key");
  shut.allow("cookie", "session");
  const get = (host: string, more = ""): Promise<string> =>
    bed.raw(`GET /x?y=%20 HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);

  const answer = await get(open.host);
  assert.equal(statusOf(answer), 200, answer);
  assert.equal((JSON.parse(bodyOf(answer)) as { url: string }).url, "/x?y=%20");
  assert.equal(statusOf(await get(shut.host)), 404);
  assert.equal(statusOf(await get(`none.${domain}`)), 404);
  assert.equal(statusOf(await get(shut.host, "Holdfast-Key: hf_other\r\n")), 401);
  assert.equal(app.seen.length, 1);
  assert.equal(shut.agent.connections, 0);
  assert.equal(statusOf(await get(shut.host, "Holdfast-Key: hf_key\r\n")), 200);
  assert.equal(statusOf(await get(shut.host, "Cookie: a=b; __Host-holdfast=session\r\n")), 200);
  assert.equal(app.seen.length, 3);
});

test("97: slow heads, and sockets that say nothing, end in their time, and do not keep others waiting", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, everything);
  const slow = await Promise.all(Array.from({ length: 300 }, () => bed.dial()));
  const told: string[] = [];
  let closed = 0;
  for (const [index, socket] of slow.entries()) {
    if (index % 2 === 0) socket.write(`GET / HTTP/1.1\r\nHost: ${project.host}\r\n`);
    socket.on("data", (piece) => told.push(piece.toString("latin1")));
    socket.on("close", () => (closed += 1));
  }
  await until(() => bed.app.visits.sockets === 300);
  const asked = performance.now();
  assert.equal(
    statusOf(await bed.raw(`GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`)),
    200,
  );
  assert.ok(performance.now() - asked < 1000);
  // A byte now and then does not help.
  bed.advance(6000);
  for (const socket of slow) socket.write("X");
  await until(() => bed.app.visits.sockets === 300);
  bed.advance(5000);
  await until(() => told.length >= 150);
  assert.ok(told.every((answer) => statusOf(answer) === 408));
  bed.advance(6000);
  await until(() => closed === 300);
});

test("one address has no more sockets than it may; its longest-waiting make room for its new ones", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, everything);
  const get = `GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`;
  const idle = await Promise.all(Array.from({ length: limits.visitSocketsPerAddress }, () => bed.dial()));
  context.after(() => idle.forEach((socket) => socket.destroy()));
  await until(() => bed.app.visits.sockets === limits.visitSocketsPerAddress);
  for (let count = 0; count < 20; count += 1) assert.equal(statusOf(await bed.raw(get)), 200);
  assert.ok(bed.app.visits.sockets <= limits.visitSocketsPerAddress);
});

test("behind a TLS proxy it says who visits and that they came by TLS; nobody else is believed", async (context) => {
  for (const [tls, expected] of [
    ["proxy", ["203.0.113.9", "https"]],
    ["none", ["127.0.0.1", "http"]],
  ] as const) {
    const bed = await startBed(context, { tls });
    const app = await startTestApp(context);
    const project = await bed.project("open", app.port, everything);
    await bed.raw(
      `GET / HTTP/1.1\r\nHost: ${project.host}\r\nX-Forwarded-For: 10.0.0.1, 203.0.113.9\r\nX-Forwarded-Proto: gopher\r\nConnection: close\r\n\r\n`,
    );
    const headers = app.seen[0]?.headers ?? [];
    const value = (name: string): string | undefined => headers[headers.indexOf(name) + 1];
    assert.deepEqual([value("X-Forwarded-For"), value("X-Forwarded-Proto")], expected);
  }
});

test("ask says yes to the addresses of published projects alone", async (context) => {
  const bed = await startBed(context);
  await bed.project("open", undefined, everything);
  await bed.project("shut", undefined);
  const port = await bed.app.ask.listen({ host: "127.0.0.1", port: 0 });
  const ask = async (query: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${query}`)).status;
  assert.equal(await ask(`/ask?domain=open.${domain}`), 200);
  assert.equal(await ask(`/ask?domain=OPEN.${domain}`), 200);
  for (const name of [
    `shut.${domain}`,
    `never.${domain}`,
    `80--open.${domain}`,
    domain,
    `open.${domain}.evil.test`,
    `open.${domain}:80`,
    `x.open.${domain}`,
    "",
  ])
    assert.equal(await ask(`/ask?domain=${name}`), 404, name);
  assert.equal(await ask(`/other?domain=open.${domain}`), 404);
});
