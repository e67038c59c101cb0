import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import {
  bodyOf,
  everything,
  startBed,
  startTestApp,
  statusOf,
  until,
} from "../../../../test/support/gateway/bed.ts";

const megabyte = 1024 * 1024;

/** Collects what comes of a socket. */
const listen = (socket: Socket) => {
  const heard = { text: "", ended: false, closed: false };
  socket.on("data", (piece) => (heard.text += piece.toString("latin1")));
  socket.on("end", () => (heard.ended = true));
  socket.on("close", () => (heard.closed = true));
  return heard;
};

test("events and pieces of an answer arrive as they are sent, each before the next", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 0\n\n");
    let count = 0;
    bed.control.onWake = () => ({ state: "ready", retry_after_ms: 0, reason: null, log: null });
    next = () => {
      count += 1;
      response.write(`data: ${count}\n\n`);
    };
  });
  let next = (): void => {};
  const project = await bed.project("open", app.port, everything);
  const socket = await bed.dial();
  const heard = listen(socket);
  socket.write(`GET / HTTP/1.1\r\nHost: ${project.host}\r\n\r\n`);
  for (let count = 0; count < 5; count += 1) {
    await until(() => heard.text.includes(`data: ${count}\n\n`));
    assert.ok(!heard.text.includes(`data: ${count + 1}`));
    next();
  }
  socket.destroy();
  // And the app hears of it that nobody listens any more.
  await until(() => project.agent.connections === 1 && bed.app.detail().includes(" 0 into computers"));
});

test("100 MB to a slow reader arrive whole, and the app waits for the reader", async (context) => {
  const bed = await startBed(context);
  const size = 100 * megabyte;
  const block = Buffer.alloc(megabyte, "0123456789abcdef");
  const sent = createHash("sha256");
  let written = 0;
  const app = await startTestApp(context, (_request, response) => {
    response.writeHead(200, { "content-length": size });
    const more = (): void => {
      while (written < size) {
        block.writeUInt32BE(written, 100);
        const piece = Buffer.from(block);
        sent.update(piece);
        written += piece.length;
        if (!response.write(piece)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  const project = await bed.project("open", app.port, everything);
  const socket = await bed.dial();
  socket.write(`GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`);
  const received = createHash("sha256");
  let head = "";
  let bytes = 0;
  let ahead = 0;
  socket.on("data", (piece) => {
    let body: Buffer = piece;
    if (!head.includes("\r\n\r\n")) {
      head += piece.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      body = Buffer.from(head.slice(end + 4), "latin1");
    }
    received.update(body);
    bytes += body.length;
    ahead = Math.max(ahead, written - bytes);
    if (bytes % (4 * megabyte) < body.length) {
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    }
  });
  await new Promise((resolve) => socket.once("close", resolve));
  assert.equal(bytes, size);
  assert.equal(received.digest("hex"), sent.digest("hex"));
  // What is under way between the two is in the sockets' buffers, of which there are six.
  assert.ok(ahead < 40 * megabyte, `${ahead}`);
});

test("a large upload waits for an app that reads slowly, and arrives whole", async (context) => {
  const bed = await startBed(context);
  const size = 32 * megabyte;
  let received = 0;
  let mayRead = (): void => {};
  const app = await startTestApp(context, (request, response) => {
    request.pause();
    mayRead = () => request.resume();
    request.on("data", (piece: Buffer) => (received += piece.length));
    request.on("end", () => response.end(`${received}`));
  });
  for (const framing of ["length", "chunked"]) {
    received = 0;
    const project = await bed.project(framing, app.port, everything);
    const socket = await bed.dial();
    const heard = listen(socket);
    const block = Buffer.alloc(megabyte, 97);
    const chunked = framing === "chunked";
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${project.host}\r\n${chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${size}`}\r\n\r\n`,
    );
    let sent = 0;
    const more = (): void => {
      while (sent < size) {
        sent += block.length;
        if (chunked) socket.write(`${block.length.toString(16)}\r\n`);
        const flowing = socket.write(block);
        if (chunked) socket.write("\r\n");
        if (!flowing) return void socket.once("drain", more);
      }
      if (chunked) socket.write("0\r\n\r\n");
    };
    more();
    await new Promise((resolve) => setTimeout(resolve, 300));
    // Held back: in the buffers of the sockets on the way, not in the gateway.
    assert.ok(sent < size, framing);
    mayRead();
    await until(() => bodyOf(heard.text).includes(`${size}`));
    socket.destroy();
  }
});

test("100-continue is answered when the app is there, and not to who may not come in", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, [{ methods: null, path: "/open" }]);
  const ask = async (path: string): Promise<{ socket: Socket; heard: ReturnType<typeof listen> }> => {
    const socket = await bed.dial();
    const heard = listen(socket);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${project.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    );
    return { socket, heard };
  };
  const open = await ask("/open");
  await until(() => open.heard.text === "HTTP/1.1 100 Continue\r\n\r\n");
  open.socket.write("hello");
  await until(() => open.heard.text.includes('"body":"hello"'));
  assert.ok(!app.seen[0]?.headers.includes("Expect"));
  const shut = await ask("/shut");
  await until(() => shut.heard.text.includes("404"));
  assert.ok(!shut.heard.text.includes("100 Continue"));
});

test("one connection takes many requests, also ahead of the answers, and answers them in order", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, everything);
  const requests = Array.from(
    { length: 300 },
    (_, index) =>
      `POST /${index} HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 4\r\n\r\n${String(index).padStart(4, "0")}`,
  );
  const last = `GET /last HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`;
  const got = await bed.raw(requests.join("") + last, 3000);
  const urls = [...got.matchAll(/"url":"\/(\w+)"/g)].map(([, url]) => url);
  assert.deepEqual(urls, [...requests.map((_, index) => String(index)), "last"]);
  assert.equal(project.agent.connections, 1);
  assert.ok(app.seen.every(({ body }, index) => index === 300 || body === String(index).padStart(4, "0")));
});

test("half-closes: an answer still comes to who has only finished asking; both sides of a WebSocket end by themselves", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(
    context,
    (_request, response) => void setTimeout(() => response.end("late"), 200),
  );
  const project = await bed.project("open", app.port, everything);
  const asking = await bed.dial();
  const answer = listen(asking);
  asking.end(`GET / HTTP/1.1\r\nHost: ${project.host}\r\n\r\n`);
  await until(() => answer.closed);
  assert.match(answer.text, /late/);

  const inside = await bed.project(
    "ws",
    (socket) => {
      socket.once("data", () => {
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello",
        );
        socket.on("data", (piece) => socket.write(piece));
        socket.on("end", () => void setTimeout(() => socket.end("bye"), 100));
      });
    },
    everything,
  );
  const socket = connect({ port: bed.port, host: "127.0.0.1", allowHalfOpen: true });
  const heard = listen(socket);
  // Data of the visitor's right behind its head waits for the app's yes.
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${inside.host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\nfirst`,
  );
  await until(() => heard.text.endsWith("first"));
  assert.match(
    heard.text,
    /^HTTP\/1\.1 101 [^\r]*\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello/,
  );
  socket.end("last");
  await until(() => heard.ended);
  assert.match(heard.text, /firstlastbye$/);
  await until(() => bed.control.records.some(({ status }) => status === 101));
});

test("who sends a whole request and its end before the app is reached is answered", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, everything);
  const post = `POST / HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 5\r\n\r\n`;
  const asking = await bed.dial();
  const answer = listen(asking);
  asking.end(`${post}hello`);
  await until(() => answer.closed);
  assert.match(answer.text, /"body":"hello"/);
  // One request ahead of the other's answer, and then the end.
  const twice = await bed.dial();
  const both = listen(twice);
  twice.end(`${post}first${post}other`);
  await until(() => both.closed);
  assert.match(both.text, /"body":"first".*"body":"other"/s);
  // What can never be whole any more is waited for no longer.
  const half = await bed.dial();
  const none = listen(half);
  half.end(`${post}he`);
  await until(() => none.closed);
  assert.equal(none.text, "");
});

test("no stream is kept for who was gone before it was known whether he may come in", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", (socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nfirst"));
    socket.on("end", () => socket.end());
  });
  project.allow("header", "k");
  const gone = await bed.dial();
  const heard = listen(gone);
  gone.end(`GET / HTTP/1.1\r\nHost: ${project.host}\r\nHoldfast-Key: k\r\n\r\n`);
  await until(() => heard.text.includes("first"));
  // A clock that is moved on would end the right, and with it all of this.
  await until(() => heard.closed, 5000);
});

test("an early answer to a long body ends the connection, and the body goes nowhere", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context, (_request, response) => {
    response.writeHead(413, { connection: "close" });
    response.end("too much");
  });
  const project = await bed.project("open", app.port, everything);
  const got = await bed.raw([
    `POST / HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 1000000\r\n\r\n`,
    "a".repeat(100_000),
  ]);
  assert.equal(statusOf(got), 413, got);
  assert.match(got, /\r\nConnection: close\r\n/);
  assert.match(got, /too much/);
});

test("visitors of HTTP/1.0 get answers without chunks, and HEAD gets no body", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context, (_request, response) => {
    response.write("one ");
    response.end("two");
  });
  const project = await bed.project("open", app.port, everything);
  const old = await bed.raw(`GET / HTTP/1.0\r\nHost: ${project.host}\r\n\r\n`);
  assert.match(old, /^HTTP\/1\.1 200 OK\r\n(?!.*chunked).*\r\n\r\none two$/s);
  const head = await bed.raw(`HEAD / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`);
  assert.match(head, /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
});

test("97: visitors who let a project's connections wait make room for those who do not", async (context) => {
  const bed = await startBed(context);
  let answered = 0;
  const app = await startTestApp(context, (request, response) => {
    request.resume();
    if (request.method === "GET") {
      answered += 1;
      response.end("served");
    }
  });
  const project = await bed.project("open", app.port, everything);
  const slow = await Promise.all(Array.from({ length: limits.visitUpstreamSockets }, () => bed.dial()));
  context.after(() => slow.forEach((socket) => socket.destroy()));
  for (const socket of slow)
    socket.write(`POST / HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 1000000\r\n\r\nabc`);
  await until(() => app.seen.length === slow.length);
  const get = `GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`;
  for (let count = 0; count < 3; count += 1) {
    const asked = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => bed.raw(get, 3000)));
    assert.ok(answers.every((answer) => answer.endsWith("served")));
    assert.ok(performance.now() - asked < 1500);
  }
  assert.equal(answered, 60);
  // No more of them than was needed.
  assert.ok(project.agent.connections < slow.length + 60);
});
