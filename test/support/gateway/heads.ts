import assert from "node:assert/strict";
import fc from "fast-check";
import { bodyGoesOn, bodyIsMalformed, ChunkReader } from "../../../packages/gateway/src/head/chunks.ts";
import { headGoesOn, headIsTooLarge, HeadReader } from "../../../packages/gateway/src/head/reader.ts";
import { readAnswerHead } from "../../../packages/gateway/src/head/answer.ts";
import { readRequestHead } from "../../../packages/gateway/src/head/request.ts";

const limitBytes = 600;

/** What a reader makes of bytes that come in these pieces: where its head ended, over all, or why it did not. */
const readIn = (pieces: readonly Buffer[]): { readonly end: number; readonly text: string } => {
  const reader = new HeadReader(limitBytes);
  let before = 0;
  for (const piece of pieces) {
    const end = reader.read(piece);
    if (end >= 0) return { end: before + end, text: reader.text };
    if (end !== headGoesOn) return { end, text: "" };
    before += piece.length;
  }
  return { end: headGoesOn, text: "" };
};

const cut = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
};

/** Well-formed heads with some bytes changed, left out or doubled: near the edge, where mistakes are. */
const seeds = [
  "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n",
  "POST /x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close, x-a\r\nX-A: b\r\n\r\nhello",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nCookie: __Host-holdfast=t; a=b\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nSet-Cookie: a=b; Domain=c\r\n\r\nabc",
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
];
const oddBytes = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  ";",
  "\x7f",
  "\xff",
  "_",
  "%2e",
  "/../",
  "chunked",
];
const mutated = fc
  .tuple(
    fc.constantFrom(...seeds),
    fc.array(fc.tuple(fc.nat(400), fc.nat(3), fc.constantFrom(...oddBytes)), { maxLength: 4 }),
  )
  .map(([seed, changes]) =>
    changes.reduce((text, [place, removed, added]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + added + text.slice(at + removed);
    }, seed),
  );
const anyBytes = fc.uint8Array({ maxLength: 900 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const text = fc.oneof(mutated, anyBytes);
const cuts = fc.array(fc.nat(2000), { maxLength: 12 });

/** How a head is cut into pieces changes nothing of what is read. */
export const cutHeads = (runs: number): void => {
  fc.assert(
    fc.property(text, cuts, (given, places) => {
      const bytes = Buffer.from(given, "latin1");
      const whole = readIn([bytes]);
      assert.deepEqual(readIn(cut(bytes, places)), whole);
      const single = Array.from({ length: bytes.length }, (_, index) => bytes.subarray(index, index + 1));
      assert.deepEqual(readIn(single), whole);
    }),
    { numRuns: runs },
  );
};

/** A head that has not ended within the limit is too large, whatever follows. */
export const endlessHead = (): void => {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nX: ${"a".repeat(limitBytes)}\r\n\r\n`, "latin1");
  for (const step of [1, 7, 599, 600, 601, 5000]) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += step) pieces.push(bytes.subarray(at, at + step));
    assert.equal(readIn(pieces).end, headIsTooLarge, `${step}`);
  }
};

/** What must be true of every request that is taken, whatever bytes it was made of. */
const checkTaken = (
  head: Exclude<ReturnType<typeof readRequestHead>, { readonly refused: string }>,
): void => {
  assert.match(head.method, /^[A-Z]{1,20}$/);
  assert.match(head.target, /^\/[\x21-\x7e]*$/);
  assert.doesNotMatch(head.path, /\\|#|\?|\/\.\.?(\/|$)/);
  assert.match(head.host, /^[a-z0-9[\]:.-]+$/);
  assert.ok(Number.isSafeInteger(head.bodyBytes) && head.bodyBytes >= -1);
  const names = head.fields.map(({ name }) => name);
  for (const gone of [
    "host",
    "transfer-encoding",
    "connection",
    "upgrade",
    "holdfast-key",
    "x-forwarded-for",
    "te",
  ])
    assert.ok(!names.includes(gone), gone);
  assert.ok(names.filter((name) => name === "content-length").length <= 1);
  for (const { line } of head.fields) {
    assert.doesNotMatch(line, /[\r\n\0]/);
    assert.doesNotMatch(line, /^cookie:.*__Host-holdfast/i);
  }
};

/** No head makes the parsers throw, and what they take keeps its promises. */
export const takenHeads = (runs: number): void => {
  let taken = 0;
  fc.assert(
    fc.property(text, (given) => {
      const { end, text: head } = readIn([Buffer.from(given, "latin1")]);
      if (end < 0) return;
      const request = readRequestHead(head);
      if (!("refused" in request)) {
        taken += 1;
        checkTaken(request);
      }
      for (const asked of [
        { method: "GET", webSocket: true },
        { method: "HEAD", webSocket: false },
      ]) {
        const answer = readAnswerHead(head, asked, asked.webSocket);
        if (typeof answer === "string") continue;
        taken += 1;
        assert.ok(answer.code >= 100 && answer.code <= 599);
        assert.doesNotMatch(answer.lines, /^(content-length|transfer-encoding|connection|upgrade):/im);
        assert.doesNotMatch(answer.lines, /^set-cookie:.*;\s*domain\s*(=|;|$)/im);
      }
    }),
    { numRuns: runs },
  );
  // Otherwise nothing was checked.
  assert.ok(taken > runs / 20, `${taken}`);
};

const readChunks = (pieces: readonly Buffer[]): { readonly end: number; readonly body: string } => {
  const reader = new ChunkReader();
  let before = 0;
  let body = "";
  for (const piece of pieces) {
    const end = reader.read(piece, 0, (data) => (body += data.toString("latin1")));
    if (end >= 0) return { end: before + end, body };
    if (end === bodyIsMalformed) return { end, body: "" };
    before += piece.length;
  }
  return { end: bodyGoesOn, body };
};

/** A chunked body is the same in whatever pieces it comes, and gives back what was put in. */
export const cutBodies = (runs: number): void => {
  const chunk = fc.uint8Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 5 }),
      cuts,
      fc.nat(200),
      fc.constantFrom(...oddBytes, ""),
      (chunks, places, place, odd) => {
        const body = chunks.map((bytes) => Buffer.from(bytes).toString("latin1"));
        const framed = `${body.map((data) => `${data.length.toString(16)}\r\n${data}\r\n`).join("")}0\r\n\r\n`;
        const whole = readChunks([Buffer.from(framed, "latin1")]);
        assert.deepEqual(whole, { end: framed.length, body: body.join("") });
        const at = place % framed.length;
        const bytes = Buffer.from(`${framed.slice(0, at)}${odd}${framed.slice(at)}rest`, "latin1");
        assert.deepEqual(readChunks(cut(bytes, places)), readChunks([bytes]));
      },
    ),
    { numRuns: runs },
  );
};
