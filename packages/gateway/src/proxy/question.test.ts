import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { startTestApp, until } from "../../../../test/support/gateway/bed.ts";
import { HeadReader } from "../head/reader.ts";
import { inChunks, readRequestHead, type RequestHead } from "../head/request.ts";
import { lastChunk } from "./gather.ts";
import { writeQuestion } from "./question.ts";

/** What visitors may say, and what they should not, to be put together by chance. */
const lines = [
  "Content-Length: 5",
  "Content-Length: 0",
  "Content-Length : 5",
  "Content-Length:5",
  "content-length:\t5 ",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: Chunked",
  "transfer-encoding:chunked",
  "Transfer-Encoding: identity",
  "Connection: close",
  "Connection: keep-alive, x-hop",
  "Connection: upgrade",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "X-Hop: 1",
  "TE: trailers",
  "Trailer: X",
  "X-Forwarded-For: 1.2.3.4",
  "X-Odd: \xe4\xf6",
  "X-Empty:",
  "Cookie: a=b; __Host-holdfast=t",
  "Authorization: Basic eA==",
  " folded",
  "Host: other",
];
const targets = ["/", "/a?b=c", "/a%2fb", "//x", "/?\\", "/a b", "/\xff", "/..;/x", "/a/../b", "http://a/"];
const request = fc
  .tuple(
    fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "get"),
    fc.constantFrom(...targets),
    fc.constantFrom("HTTP/1.1", "HTTP/1.0"),
    fc.array(fc.constantFrom(...lines), { maxLength: 5 }),
  )
  .map(
    ([method, target, version, some]) =>
      `${method} ${target} ${version}\r\nHost: a.b\r\n${some.join("\r\n")}\r\n\r\n`,
  );

const readHead = (text: string): RequestHead | undefined => {
  const reader = new HeadReader(8192);
  const bytes = Buffer.from(text.replace(/\r\n\r\n\r\n$/, "\r\n\r\n"), "latin1");
  if (reader.read(bytes) !== bytes.length) return undefined;
  const head = readRequestHead(reader.text);
  return "refused" in head ? undefined : head;
};

test("what is passed on is to Node's own parser one request, the one that was judged, with its body and nothing behind it", async (context) => {
  const app = await startTestApp(context);
  let taken = 0;
  const told = { from: "203.0.113.1", scheme: "https", narrow: false } as const;
  await fc.assert(
    fc.asyncProperty(request, async (text) => {
      const head = readHead(text);
      // An upgrade is no request of Node's kind; what becomes of one is tested with sockets.
      if (!head || head.webSocket) return;
      taken += 1;
      app.seen.length = 0;
      const body =
        head.bodyBytes === inChunks ? `5\r\nhello\r\n${lastChunk}` : "hello".slice(0, head.bodyBytes);
      const socket = connect({ port: app.port, host: "127.0.0.1" });
      socket.on("error", () => {});
      socket.resume();
      socket.write(`${writeQuestion(head, told)}${body}`, "latin1");
      socket.write("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      await until(() => app.seen.length >= 2);
      socket.destroy();
      const [first, second, ...more] = app.seen;
      assert.deepEqual(
        [first?.method, first?.url, first?.body],
        [head.method, head.target, head.bodyBytes === 0 ? "" : "hello"],
      );
      assert.deepEqual([second?.url, more.length], ["/next", 0]);
      const names =
        first?.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()) ?? [];
      for (const name of ["host", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"])
        assert.equal(names.filter((other) => other === name).length, 1, name);
      for (const name of ["te", "trailer", "expect", "upgrade", "connection"])
        assert.ok(!names.includes(name), name);
      assert.doesNotMatch(JSON.stringify(first?.headers), /holdfast=t/);
    }),
    { numRuns: 400 },
  );
  assert.ok(taken > 60, `${taken}`);
});
