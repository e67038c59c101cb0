import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { bodyOf, everything, startBed, statusOf, until } from "../../../../test/support/gateway/bed.ts";

/** An app that answers each request with bytes as they are. `left` counts connections that were ended from outside. */
const rawApp = () => {
  const app = {
    answer: "" as string | Buffer,
    connections: 0,
    requests: 0,
    ended: 0,
    sockets: new Set<Socket>(),
  };
  const serve = (socket: Socket): void => {
    app.connections += 1;
    app.sockets.add(socket);
    let held = "";
    socket.on("data", (piece) => {
      held += piece.toString("latin1");
      while (held.includes("\r\n\r\n")) {
        held = held.slice(held.indexOf("\r\n\r\n") + 4);
        app.requests += 1;
        socket.write(typeof app.answer === "string" ? Buffer.from(app.answer, "latin1") : app.answer);
      }
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      app.ended += 1;
      app.sockets.delete(socket);
    });
  };
  return { app, serve };
};

const ok = "HTTP/1.1 200 OK\r\n";

/** Answers of which nothing can be made. */
const hopeless: Readonly<Record<string, string>> = {
  "length and chunks": `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  "two lengths": `${ok}Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello`,
  "the same length twice": `${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  "a list of lengths": `${ok}Content-Length: 5, 5\r\n\r\nhello`,
  "a length that is no number": `${ok}Content-Length: five\r\n\r\nhello`,
  "a negative length": `${ok}Content-Length: -1\r\n\r\n`,
  "identity, chunked": `${ok}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`,
  xchunked: `${ok}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  gzip: `${ok}Transfer-Encoding: gzip\r\n\r\nx`,
  "chunks in HTTP/1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "a continued line": `${ok}X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n`,
  "bare LF": "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
  "bare CR": `${ok}X-A: a\rb\r\nContent-Length: 0\r\n\r\n`,
  NUL: `${ok}X-A: \x00\r\nContent-Length: 0\r\n\r\n`,
  "a space before the colon": `${ok}Content-Length : 0\r\n\r\n`,
  "no colon": `${ok}nothing\r\n\r\n`,
  "an odd version": "HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/0.9": "hello\r\n\r\n",
  "a code of two digits": "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
  "a code out of range": "HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n",
  "a code with a sign": "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
  "nothing but an end": "",
  "a flood of interim heads": "HTTP/1.1 100 Continue\r\n\r\n".repeat(20) + `${ok}Content-Length: 0\r\n\r\n`,
  "an upgrade that nobody asked for":
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  "too large a head": `${ok}X-A: ${"a".repeat(33_000)}\r\n\r\n`,
  "too many headers": `${ok}${"A: b\r\n".repeat(101)}\r\n`,
  "an empty line first": `\r\n${ok}Content-Length: 0\r\n\r\n`,
};

test("an answer that could be read in two ways becomes a page of ours, and its connection is never used again", async (context) => {
  const bed = await startBed(context);
  const { app, serve } = rawApp();
  const project = await bed.project("open", serve, everything);
  const get = `GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`;
  let count = 0;
  for (const [name, answer] of Object.entries(hopeless)) {
    app.answer = answer === "" ? "\r\n" : answer;
    count += 1;
    const got = await bed.raw(get);
    assert.equal(statusOf(got), 502, `${name}: ${got.slice(0, 300)}`);
    assert.doesNotMatch(got, /hello|X-A/, name);
    await until(() => app.ended === count);
    assert.equal(app.connections, count, name);
  }
});

test("an app that hangs up without an answer is told of as such", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project(
    "open",
    (socket) => void socket.once("data", () => socket.destroy()),
    everything,
  );
  const got = await bed.raw(`GET / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`);
  assert.equal(statusOf(got), 502, got);
});

/** What of an answer reaches the visitor: head lines that matter, and the body with its framing. */
const passed: readonly {
  readonly name: string;
  readonly answer: string;
  readonly request?: string;
  readonly ends?: boolean;
  readonly expected: RegExp;
  /** The connection into the cell may serve another request. */
  readonly reused: boolean;
}[] = [
  {
    name: "a length",
    answer: `${ok}Content-Length: 5\r\n\r\nhello`,
    expected: /\r\nContent-Length: 5\r\n.*\r\n\r\nhello$/s,
    reused: true,
  },
  {
    name: "no reason",
    answer: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    expected: /^HTTP\/1\.1 200 \r\nContent-Length: 0\r\n/,
    reused: true,
  },
  {
    name: "chunks, with an extension and a trailer",
    answer: `${ok}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-T: v\r\n\r\n`,
    expected: /^(?!.*(X-T|x=y)).*\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/s,
    reused: true,
  },
  {
    name: "until the connection ends",
    answer: `${ok}\r\nhello`,
    ends: true,
    expected: /\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/s,
    reused: false,
  },
  {
    name: "HTTP/1.0",
    answer: "HTTP/1.0 200 OK\r\n\r\nhello",
    ends: true,
    expected: /^HTTP\/1\.1 200 OK\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/s,
    reused: false,
  },
  {
    name: "Connection: close",
    answer: `${ok}Content-Length: 5\r\nConnection: close\r\n\r\nhello`,
    expected: /\r\n\r\nhello$/,
    reused: false,
  },
  {
    name: "HEAD with a length",
    request: "HEAD",
    answer: `${ok}Content-Length: 5\r\n\r\n`,
    expected: /\r\nContent-Length: 5\r\n.*\r\n\r\n$/s,
    reused: true,
  },
  {
    name: "HEAD with chunks",
    request: "HEAD",
    answer: `${ok}Transfer-Encoding: chunked\r\n\r\n`,
    expected: /^(?!.*chunked).*\r\n\r\n$/s,
    reused: true,
  },
  {
    name: "HEAD with a body all the same",
    request: "HEAD",
    answer: `${ok}Content-Length: 5\r\n\r\nhello`,
    expected: /\r\n\r\n$/,
    reused: false,
  },
  {
    name: "204 with a length",
    answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    expected: /^(?!.*Content-Length).*\r\n\r\n$/s,
    reused: true,
  },
  {
    name: "204 with a body",
    answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    expected: /^(?!.*hello).*\r\n\r\n$/s,
    reused: false,
  },
  {
    name: "304 with a length",
    answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
    expected: /\r\nContent-Length: 5\r\n.*\r\n\r\n$/s,
    reused: true,
  },
  {
    name: "more than the length",
    answer: `${ok}Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`,
    expected: /\r\n\r\nhello$/,
    reused: false,
  },
  {
    name: "more after the last chunk",
    answer: `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nevil`,
    expected: /^(?!.*evil).*5\r\nhello\r\n0\r\n\r\n$/s,
    reused: false,
  },
  {
    name: "an interim head first",
    answer: `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 5\r\n\r\nhello`,
    expected: /^HTTP\/1\.1 200 OK\r\n(?!.*Link).*hello$/s,
    reused: true,
  },
  {
    name: "what Connection names",
    answer: `${ok}Content-Length: 0\r\nConnection: X-Hop\r\nX-Hop: a\r\nX-Stays: b\r\nKeep-Alive: timeout=5\r\n\r\n`,
    expected: /^(?!.*(X-Hop|Keep-Alive)).*X-Stays: b/s,
    reused: true,
  },
  {
    name: "what Connection may not name",
    answer: `${ok}Content-Length: 0\r\nConnection: Set-Cookie\r\nSet-Cookie: a=b\r\n\r\n`,
    expected: /\r\nSet-Cookie: a=b\r\n/,
    reused: true,
  },
  {
    name: "95: what would reach other origins of ours",
    answer: `${ok}Content-Length: 0\r\nSet-Cookie: a=b; Domain=holdfast.test; Path=/\r\nSet-Cookie: __Host-holdfast=evil; Path=/; Secure\r\nClear-Site-Data: "*"\r\nService-Worker-Allowed: /\r\nAlt-Svc: h2=":1"\r\n\r\n`,
    expected:
      /^(?!.*(Domain|evil|Service-Worker|Alt-Svc)).*Set-Cookie: a=b; Path=\/\r\nClear-Site-Data: "cache", "storage"\r\n/s,
    reused: true,
  },
];

test("every way to frame an answer arrives framed by us, and only a clean connection is kept", async (context) => {
  const bed = await startBed(context);
  for (const [index, { name, answer, ends, expected, request, reused }] of passed.entries()) {
    const { app, serve } = rawApp();
    const project = await bed.project(`p${String.fromCharCode(97 + index)}`, serve, everything);
    app.answer = answer;
    const ask = `${request ?? "GET"} / HTTP/1.1\r\nHost: ${project.host}\r\nConnection: close\r\n\r\n`;
    const answering = bed.raw(ask);
    if (ends) {
      await until(() => app.requests === 1);
      for (const socket of app.sockets) socket.end();
    }
    const got = await answering;
    assert.match(got, expected, name);
    app.answer = `${ok}Content-Length: 2\r\n\r\nok`;
    assert.equal(bodyOf(await bed.raw(ask.replace("HEAD", "GET"))), "ok", name);
    assert.equal(app.connections, reused ? 1 : 2, name);
  }
});

test("an answer that is cut off can be told from a whole one", async (context) => {
  const bed = await startBed(context);
  const cuts: readonly string[] = [
    `${ok}Content-Length: 10\r\n\r\nhello`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`,
  ];
  for (const [index, answer] of cuts.entries()) {
    const project = await bed.project(
      `c${String.fromCharCode(97 + index)}`,
      (socket) => void socket.once("data", () => socket.end(answer)),
      everything,
    );
    const got = await bed.raw(`GET / HTTP/1.1\r\nHost: ${project.host}\r\n\r\n`);
    assert.match(got, /hello/);
    assert.doesNotMatch(got, /\r\n0\r\n\r\n$/, answer);
  }
});

test("99: a connection into one project is never used for another, nor after bytes that nobody asked for", async (context) => {
  const bed = await startBed(context);
  const smuggle = `${ok}Content-Length: 2\r\n\r\nok`;
  const one = rawApp();
  const other = rawApp();
  one.app.answer = smuggle;
  other.app.answer = smuggle;
  const [a, b] = [
    await bed.project("one", one.serve, everything),
    await bed.project("other", other.serve, everything),
  ];
  const get = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  // Alternately on one connection of the visitor's: each project is asked on a connection of its own.
  const got = await bed.raw([get(a.host), get(b.host), get(a.host), get(b.host)]);
  assert.equal(got.split("\r\n\r\nok").length - 1, 4, got);
  assert.deepEqual([one.app.connections, other.app.connections], [1, 1]);
  assert.deepEqual([one.app.requests, other.app.requests], [2, 2]);
  // An app that answers ahead of the question: what it said before is not taken for an answer to the next visitor.
  for (const socket of one.app.sockets) socket.write(`${ok}Content-Length: 4\r\n\r\nevil`);
  await until(() => one.app.ended === 1);
  assert.equal(bodyOf(await bed.raw(get(a.host))), "ok");
  assert.equal(one.app.connections, 2);
});

test("a kept connection that the app has just closed is asked again, where that is as good as once", async (context) => {
  const bed = await startBed(context);
  let asked = 0;
  /** Answers the first request of a connection, and hangs up at the second without a word. */
  const project = await bed.project(
    "open",
    (socket) => {
      socket.once("data", () => {
        socket.write(`${ok}Content-Length: 2\r\n\r\nok`);
        socket.once("data", () => {
          asked += 1;
          socket.destroy();
        });
      });
    },
    everything,
  );
  const get = `GET / HTTP/1.1\r\nHost: ${project.host}\r\n\r\n`;
  const got = await bed.raw([get, get], 200);
  assert.equal(got.split("\r\n\r\nok").length - 1, 2, got);
  assert.equal(asked, 1);
  const post = `POST / HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 0\r\n\r\n`;
  assert.equal(statusOf(await bed.raw(post)), 502);
  assert.equal(asked, 2);
  // Not used for a while, it may be about to be closed: what cannot be asked again goes on a new one.
  assert.equal(statusOf(await bed.raw(get, 1500)), 200);
  assert.equal(statusOf(await bed.raw(post)), 200);
});
