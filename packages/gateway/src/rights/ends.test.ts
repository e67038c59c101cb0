import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { type Bed, everything, startBed, statusOf } from "../../../../test/support/gateway/bed.ts";

const get = (host: string, more = "", path = "/"): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`;
const upgrade = (host: string, more = ""): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
/** An app that takes every upgrade and echoes. */
const echo = (socket: Socket): void => {
  socket.once("data", () => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    socket.on("data", (piece) => socket.write(piece));
  });
  socket.on("end", () => socket.end());
};

/** A WebSocket as raw bytes; `closedMs` since a moment, once it is closed. */
const openSocket = async (
  bed: Bed,
  head: string,
): Promise<{ readonly socket: Socket; readonly closed: Promise<number> }> => {
  const socket = await bed.dial();
  const closed = new Promise<number>((resolve) => socket.once("close", () => resolve(performance.now())));
  const first = new Promise<string>((resolve) =>
    socket.once("data", (piece) => resolve(piece.toString("latin1"))),
  );
  socket.write(head);
  assert.equal(statusOf(await first), 101);
  return { socket, closed };
};

test("within a second of a right's end its open sockets are closed, and no other", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", echo);
  const others = await bed.project("others", echo);
  project.allow("header", "gone");
  project.allow("header", "stays");
  others.allow("header", "other");
  const [gone, stays, other] = [
    await openSocket(bed, upgrade(project.host, "Holdfast-Key: gone\r\n")),
    await openSocket(bed, upgrade(project.host, "Holdfast-Key: stays\r\n")),
    await openSocket(bed, upgrade(others.host, "Holdfast-Key: other\r\n")),
  ];
  const at = performance.now();
  project.forbid("header", "gone");
  assert.ok((await gone.closed) - at < 1000);
  assert.equal(statusOf(await bed.raw(get(project.host, "Holdfast-Key: gone\r\n"))), 401);
  const echoed = new Promise((resolve) => stays.socket.once("data", resolve));
  stays.socket.write("still here");
  await echoed;
  // What nobody confirms ends, too.
  const away = performance.now();
  await bed.control.stop();
  assert.ok((await stays.closed) - away < 1200);
  assert.ok((await other.closed) - away < 1200);
  assert.equal(statusOf(await bed.raw(get(project.host, "Holdfast-Key: stays\r\n"))), 503);
  await bed.control.start();
  assert.equal(statusOf(await bed.raw(upgrade(others.host, "Holdfast-Key: other\r\n"), 200)), 101);
});

test("who has been answered nothing yet when a right ends is told to come again", async (context) => {
  const bed = await startBed(context);
  // It is asked, and says nothing, ever.
  let ask = (): void => undefined;
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const project = await bed.project("mine", (socket) => void socket.on("data", () => ask()));
  project.allow("header", "gone");
  const socket = await bed.dial();
  let answer = "";
  socket.on("data", (piece) => (answer += piece.toString("latin1")));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`GET / HTTP/1.1\r\nHost: ${project.host}\r\nHoldfast-Key: gone\r\n\r\n`);
  await asked;
  project.forbid("header", "gone");
  await closed;
  assert.equal(statusOf(answer), 503);
  assert.match(answer, /^retry-after: /im);
});

test("a control that takes its time to answer does not end rights that hold", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", echo);
  project.allow("header", "k");
  bed.control.holdMs = 400;
  const { socket, closed } = await openSocket(bed, upgrade(project.host, "Holdfast-Key: k\r\n"));
  const ended = await Promise.race([closed, systemClock.sleep(2500).then(() => "open")]);
  assert.equal(ended, "open");
  socket.destroy();
});

test("within a second of unpublishing, and of a project's end, visitors' sockets are closed; published ones go on without control", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("open", echo, everything);
  const partly = await bed.project("partly", echo, [{ methods: null, path: "/ws" }]);
  const removed = await bed.project("removed", echo, everything);
  removed.allow("header", "k");
  const visitor = await openSocket(bed, upgrade(project.host));
  const part = await openSocket(bed, upgrade(partly.host));
  const owner = await openSocket(bed, upgrade(removed.host, "Holdfast-Key: k\r\n"));
  await bed.control.stop();
  assert.equal(
    statusOf(await bed.raw(upgrade(project.host), 200)),
    101,
    "published addresses go on without control",
  );
  await bed.control.start();

  const at = performance.now();
  bed.control.route(
    { ...project.route, published: null },
    { ...partly.route, published: [{ methods: null, path: "/other" }] },
    { ...removed.route, removed: true },
  );
  for (const { closed } of [visitor, part, owner]) assert.ok((await closed) - at < 1000);
  assert.equal(statusOf(await bed.raw(get(project.host))), 404);
  assert.equal(statusOf(await bed.raw(get(removed.host, "Holdfast-Key: k\r\n"))), 401);
});
