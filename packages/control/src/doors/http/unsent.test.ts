import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { systemClock } from "@holdfast/kit";
import { createUnsent } from "./unsent.ts";

/** More than the kernel takes of a connection that nobody reads. */
const large = Buffer.alloc(32 * 1024 * 1024);

/** A server whose replies are looked after; `ask` asks and reads, or does not. */
const serving = async (context: TestContext, most: number) => {
  let now = 0;
  const unsent = createUnsent({ ...systemClock, monotonic: () => now, after: () => () => {} }, most);
  let made = 0;
  const server = createServer((incoming, outgoing) => {
    unsent.watch(outgoing);
    outgoing.end(incoming.url === "/small" ? "x" : large);
    made += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets: Socket[] = [];
  /** A client that does not read is not told that its connection was ended: what the server has counts. */
  const ports = new Set<number | undefined>();
  server.on("connection", (socket) => {
    const { remotePort } = socket;
    ports.add(remotePort);
    socket.on("close", () => ports.delete(remotePort));
  });
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const ask = async (
    path: string,
    reads: boolean,
  ): Promise<{ readonly open: () => boolean; readonly read: () => number }> => {
    const wanted = made + 1;
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    let read = 0;
    socket.on("error", () => {});
    if (reads) socket.on("data", (piece) => (read += piece.length));
    else socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    while (made < wanted) await systemClock.sleep(5);
    return { open: () => ports.has(socket.localPort), read: () => read };
  };
  return { ask, sweep: unsent.sweep, pass: (ms: number) => (now += ms) };
};

const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (const deadline = performance.now() + 10_000; !holds(); await systemClock.sleep(5))
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
};

test("a reply that nobody takes ends with its connection after a minute; one that is read does not", async (context) => {
  const { ask, sweep, pass } = await serving(context, Number.MAX_SAFE_INTEGER);
  const silent = await ask("/large", false);
  const reader = await ask("/large", true);
  const idle = await ask("/small", true);
  await until("the reader has all", () => reader.read() > large.length && idle.read() > 0);
  sweep();
  pass(59_999);
  sweep();
  // A connection that was ended is not there any more some turns later.
  await systemClock.sleep(50);
  assert.deepEqual([silent.open(), reader.open(), idle.open()], [true, true, true]);
  pass(1);
  sweep();
  await until("the silent one is ended", () => !silent.open());
  assert.deepEqual([reader.open(), idle.open()], [true, true]);
});

test("where all hold too much, those that hold the most go", async (context) => {
  const { ask, sweep } = await serving(context, 1.5 * large.length);
  const first = await ask("/large", false);
  sweep();
  await systemClock.sleep(50);
  const second = await ask("/large", false);
  const small = await ask("/small", true);
  assert.deepEqual([first.open(), second.open()], [true, true]);
  sweep();
  await until("one of them is ended", () => !(first.open() && second.open()));
  assert.deepEqual([first.open() !== second.open(), small.open()], [true, true]);
});
