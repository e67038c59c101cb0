import assert from "node:assert/strict";
import { test } from "node:test";
import { domain, everything, startBed, startTestApp, statusOf } from "../support/gateway/bed.ts";

/** What Node's own parser would take apart differently, or not at all: raw bytes to the gateway, in front of an app that notes what comes. */
const host = `open.${domain}`;
const ok = `Host: ${host}\r\n`;
const long = (bytes: number): string => "a".repeat(bytes);

/** Heads (and bodies) that must be refused, with the statuses they may be refused by. */
const refused: Readonly<Record<string, readonly [bytes: string, ...statuses: number[]]>> = {
  "19: two Host headers": [`GET / HTTP/1.1\r\n${ok}Host: other.${domain}\r\n\r\n`, 400],
  "19: the same Host twice": [`GET / HTTP/1.1\r\n${ok}${ok}\r\n`, 400],
  "19: no Host": ["GET / HTTP/1.1\r\n\r\n", 400],
  "19: an empty Host": ["GET / HTTP/1.1\r\nHost:\r\n\r\n", 400],
  "19: an absolute target that differs": [`GET http://other.${domain}/ HTTP/1.1\r\n${ok}\r\n`, 400],
  "19: an absolute target that agrees": [`GET http://${host}/ HTTP/1.1\r\n${ok}\r\n`, 400],
  "19: authority form": [`CONNECT ${host}:80 HTTP/1.1\r\n${ok}\r\n`, 400, 405],
  "19: asterisk form": [`OPTIONS * HTTP/1.1\r\n${ok}\r\n`, 400],
  "19: userinfo in Host": [`GET / HTTP/1.1\r\nHost: user@${host}\r\n\r\n`, 400],
  "19: a list in Host": [`GET / HTTP/1.1\r\nHost: ${host}, other.${domain}\r\n\r\n`, 400],
  "19: a trailing dot in Host": [`GET / HTTP/1.1\r\nHost: ${host}.\r\n\r\n`, 400],
  "19: a backslash in Host": [`GET / HTTP/1.1\r\nHost: ${host}\\x\r\n\r\n`, 400],
  "19: a tab in Host": [`GET / HTTP/1.1\r\nHost: ${host}\tx\r\n\r\n`, 400],
  "20: length and chunks": [
    `POST / HTTP/1.1\r\n${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: chunks and length": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: two lengths": [`POST / HTTP/1.1\r\n${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`, 400],
  "20: the same length twice": [
    `POST / HTTP/1.1\r\n${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    400,
  ],
  "20: a list of lengths": [`POST / HTTP/1.1\r\n${ok}Content-Length: 5, 5\r\n\r\nhello`, 400],
  "20: a length with a sign": [`POST / HTTP/1.1\r\n${ok}Content-Length: +5\r\n\r\nhello`, 400],
  "20: a negative length": [`POST / HTTP/1.1\r\n${ok}Content-Length: -5\r\n\r\nhello`, 400],
  "20: a length in hexadecimal": [`POST / HTTP/1.1\r\n${ok}Content-Length: 0x5\r\n\r\nhello`, 400],
  "20: a length that no number holds": [
    `POST / HTTP/1.1\r\n${ok}Content-Length: 99999999999999999999\r\n\r\n`,
    400,
  ],
  "20: a length with an underscore": [`POST / HTTP/1.1\r\n${ok}Content_Length: 5\r\n\r\nhello`, 400],
  "20: identity, chunked": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: identity and chunked in two lines": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: chunked twice": [`POST / HTTP/1.1\r\n${ok}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, 400],
  "20: xchunked": [`POST / HTTP/1.1\r\n${ok}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
  "20: gzip, chunked": [`POST / HTTP/1.1\r\n${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
  "20: chunked with a parameter": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: chunked in quotes": [`POST / HTTP/1.1\r\n${ok}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`, 400],
  "20: an empty coding": [`POST / HTTP/1.1\r\n${ok}Transfer-Encoding:\r\n\r\n0\r\n\r\n`, 400],
  "20: a coding with an underscore": [
    `POST / HTTP/1.1\r\n${ok}Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: chunks in HTTP/1.0": [`POST / HTTP/1.0\r\n${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  "20: a vertical tab in the coding": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: a continued line": [`GET / HTTP/1.1\r\n${ok}X-A: b\r\n c\r\n\r\n`, 400],
  "20: a continued line by a tab": [`GET / HTTP/1.1\r\n${ok}X-A: b\r\n\tc\r\n\r\n`, 400],
  "20: a continued first line": [`GET / HTTP/1.1\r\n X: y\r\n${ok}\r\n`, 400],
  "20: bare LF": [`GET / HTTP/1.1\n${ok}\r\n`, 400],
  "20: bare LF between headers": [`GET / HTTP/1.1\r\n${ok}X-A: b\nX-C: d\r\n\r\n`, 400],
  "20: bare LF at the end": [`GET / HTTP/1.1\r\n${ok}\n`, 400],
  "20: bare CR": [`GET / HTTP/1.1\r\n${ok}X-A: b\rX-C: d\r\n\r\n`, 400],
  "20: two CRs": [`GET / HTTP/1.1\r\n${ok}X-A: b\r\r\n\r\n`, 400],
  "20: NUL in a value": [`GET / HTTP/1.1\r\n${ok}X-A: b\x00c\r\n\r\n`, 400],
  "20: NUL in a name": [`GET / HTTP/1.1\r\n${ok}X\x00A: b\r\n\r\n`, 400],
  "20: NUL in the target": [`GET /\x00 HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a control byte in a value": [`GET / HTTP/1.1\r\n${ok}X-A: b\x01c\r\n\r\n`, 400],
  "20: DEL in a value": [`GET / HTTP/1.1\r\n${ok}X-A: b\x7f\r\n\r\n`, 400],
  "20: a space before the colon": [`POST / HTTP/1.1\r\n${ok}Content-Length : 5\r\n\r\nhello`, 400],
  "20: a tab before the colon": [
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  "20: no colon": [`GET / HTTP/1.1\r\n${ok}nothing\r\n\r\n`, 400],
  "20: no name": [`GET / HTTP/1.1\r\n${ok}: value\r\n\r\n`, 400],
  "20: a name that is no token": [`GET / HTTP/1.1\r\n${ok}X(A): b\r\n\r\n`, 400],
  "20: HTTP/0.9": ["GET /\r\n\r\n", 400],
  "20: HTTP/2's preface": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  "20: another version": [`GET / HTTP/1.2\r\n${ok}\r\n`, 400],
  "20: a version in lower case": [`GET / http/1.1\r\n${ok}\r\n`, 400],
  "20: an empty line first": [`\r\nGET / HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: two spaces in the first line": [`GET  / HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a tab in the first line": [`GET\t/ HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a space in the target": [`GET /a b HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a method in lower case": [`get / HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a fragment": [`GET /#x HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: a backslash in the path": [`GET /a\\..\\b HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: dot segments": [`GET /a/../b HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: encoded dot segments": [`GET /a/%2E%2e/b HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: half encoded dot segments": [`GET /a/.%2e HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: bytes beyond ASCII in the target": [`GET /\xfc HTTP/1.1\r\n${ok}\r\n`, 400],
  "20: TLS": ["\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 400],
  "20: too large a head": [`GET / HTTP/1.1\r\n${ok}X-A: ${long(33_000)}\r\n\r\n`, 431],
  "20: a head without an end": [`GET / HTTP/1.1\r\n${ok}X-A: ${long(33_000)}`, 431],
  "20: too many headers": [`GET / HTTP/1.1\r\n${ok}${"X: y\r\n".repeat(101)}\r\n`, 431],
  "20: too long a target": [`GET /${long(17_000)} HTTP/1.1\r\n${ok}\r\n`, 414],
  "20: two Authorization headers": [
    `GET / HTTP/1.1\r\n${ok}Authorization: a\r\nAuthorization: b\r\n\r\n`,
    400,
  ],
  "20: another expectation": [`POST / HTTP/1.1\r\n${ok}Expect: 200-ok\r\nContent-Length: 1\r\n\r\na`, 417],
  "22: Connection: Authorization": [
    `GET / HTTP/1.1\r\n${ok}Authorization: a\r\nConnection: Authorization\r\n\r\n`,
    400,
  ],
  "22: Connection: close, Cookie": [
    `GET / HTTP/1.1\r\n${ok}Cookie: a=b\r\nConnection: close, Cookie\r\n\r\n`,
    400,
  ],
  "22: Connection: Host": [`GET / HTTP/1.1\r\n${ok}Connection: host\r\n\r\n`, 400],
  "22: Connection: Content-Length": [
    `POST / HTTP/1.1\r\n${ok}Content-Length: 5\r\nConnection: Content-Length\r\n\r\nhello`,
    400,
  ],
  "22: Connection: X-Forwarded-For": [`GET / HTTP/1.1\r\n${ok}Connection: X-Forwarded-For\r\n\r\n`, 400],
  "22: Connection that is no list": [`GET / HTTP/1.1\r\n${ok}Connection: a b\r\n\r\n`, 400],
  "22: TRACE": [`TRACE / HTTP/1.1\r\n${ok}\r\n`, 405],
};

test("heads that two programs could read differently are refused before an app sees anything, and end the connection", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("open", app.port, everything);
  const sane = `GET /sane HTTP/1.1\r\n${ok}Connection: close\r\n\r\n`;
  assert.equal(statusOf(await bed.raw(sane)), 200);
  for (const [name, [bytes, ...statuses]] of Object.entries(refused)) {
    // What follows in the same write is not answered: after such a head nobody knows where the next one begins.
    const answer = await bed.raw(bytes + sane);
    assert.ok(statuses.includes(statusOf(answer)), `${name}: ${answer.slice(0, 200)}`);
    assert.equal(
      answer.split("HTTP/1.1 ").length - 1,
      1,
      `${name} was followed by another answer: ${answer}`,
    );
    assert.match(answer, /\r\nConnection: close\r\n/, name);
  }
  assert.deepEqual(
    app.seen.map(({ url }) => url),
    ["/sane"],
  );
  assert.equal(project.agent.connections, 1);
});

test("20: chunked bodies that are not exactly chunks are refused, and no app gets a whole request of them", async (context) => {
  const bed = await startBed(context);
  const bodies: string[] = [];
  const whole: string[] = [];
  const app = await startTestApp(context, (request, response) => {
    let body = "";
    request.setEncoding("latin1");
    request.on("data", (text: string) => (body += text));
    request.on("error", () => bodies.push(body));
    request.on("end", () => {
      whole.push(body);
      response.end(body);
    });
  });
  await bed.project("open", app.port, everything);
  const post = (body: string, more = ""): string =>
    `POST / HTTP/1.1\r\n${ok}Transfer-Encoding: chunked\r\n${more}\r\n${body}`;
  const malformed: Readonly<Record<string, string>> = {
    "no size": "\r\nhello\r\n0\r\n\r\n",
    "a size that is no number": "z\r\nhello\r\n0\r\n\r\n",
    "a size with a prefix": "0x5\r\nhello\r\n0\r\n\r\n",
    "a size with a sign": "+5\r\nhello\r\n0\r\n\r\n",
    "a space before the size": " 5\r\nhello\r\n0\r\n\r\n",
    "a space after the size": "5 \r\nhello\r\n0\r\n\r\n",
    "bare LF after the size": "5\nhello\r\n0\r\n\r\n",
    "bare CR after the size": "5\rXhello\r\n0\r\n\r\n",
    "a size that overflows": "1000000000000000005\r\nhello\r\n0\r\n\r\n",
    "more data than the size": "5\r\nhello!\r\n0\r\n\r\n",
    "less data than the size": "5\r\nhell\r\n0\r\n\r\n",
    "no line end after the data": "5\r\nhello0\r\n\r\n",
    "bare LF after the data": "5\r\nhello\n0\r\n\r\n",
    "NUL in an extension": "5;a=\x00\r\nhello\r\n0\r\n\r\n",
    "LF in an extension": "5;a\nhello\r\n0\r\n\r\n",
    "an endless extension": `5;${long(300)}\r\nhello\r\n0\r\n\r\n`,
    "endless trailers": `0\r\nX: ${long(9000)}\r\n\r\n`,
    "NUL in a trailer": "0\r\nX: \x00\r\n\r\n",
    "a continued trailer": "0\r\nX: a\r\n b\r\n\r\n",
    "bare LF at the end": "0\r\n\n",
  };
  for (const [name, body] of Object.entries(malformed)) {
    const answer = await bed.raw(post(body));
    assert.ok([0, 400].includes(statusOf(answer)), `${name}: ${answer}`);
  }
  assert.deepEqual(whole, []);
  // And what is well-formed arrives, without extensions and trailers.
  const answer = await bed.raw(
    post(
      "3;ext=1\r\nabc\r\n00002\r\nde\r\n0\r\nX-Secret: t\r\n\r\n",
      "Trailer: X-Secret\r\nConnection: close\r\n",
    ),
  );
  assert.equal(statusOf(answer), 200, answer);
  assert.deepEqual(whole, ["abcde"]);
});

test("22: what is between two neighbours ends at the gateway, what is the app's goes on, and nobody speaks for the proxy", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  await bed.project("open", app.port, everything);
  const sent = [
    "X-Hop: gone",
    "Connection: X-Hop, TE, Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQAAP__",
    "TE: trailers",
    "Trailer: X-Late",
    "Keep-Alive: timeout=1",
    "Proxy-Connection: keep-alive",
    "Proxy-Authorization: Basic eDp5",
    "Forwarded: for=10.0.0.1",
    "X-Forwarded-For: 10.0.0.1",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: other.test",
    "X-Forwarded-Port: 1",
    "X-Real-IP: 10.0.0.1",
    "Authorization: Bearer  the-app's own ",
    'Cookie: a=1;b=2 ; c="3"',
    "x-CasE: As It Is",
  ];
  const answer = await bed.raw(`GET / HTTP/1.1\r\n${ok}${sent.join("\r\n")}\r\n\r\n`);
  assert.equal(statusOf(answer), 200, answer);
  const headers = app.seen[0]?.headers ?? [];
  const pairs = headers.flatMap((text, index) => (index % 2 === 0 ? [`${text}: ${headers[index + 1]}`] : []));
  assert.deepEqual(pairs, [
    `Host: ${host}`,
    "Authorization: Bearer  the-app's own",
    'Cookie: a=1;b=2 ; c="3"',
    "x-CasE: As It Is",
    "X-Forwarded-For: 127.0.0.1",
    "X-Forwarded-Proto: http",
    `X-Forwarded-Host: ${host}`,
  ]);
});
