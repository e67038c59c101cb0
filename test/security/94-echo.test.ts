import assert from "node:assert/strict";
import { test } from "node:test";
import { openSite } from "../support/site/site.ts";
import { dial, head } from "../support/talk.ts";
import { useComputer } from "../support/use.ts";

const used = await useComputer();
const { instance, assistant } = used;
const site = await openSite(used, "echo");
const { port } = instance.projects;
const { host, slug } = site;

/** The answer to one request on a connection of its own; the app answers with what it got. */
const ask = async (target: string, lines: readonly string[], body = ""): Promise<string> => {
  const talk = await dial(port, `${head(target, host, [...lines, "Connection: close"])}${body}`);
  await talk.closes();
  return talk.text;
};
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
/** The session in the cookie that a link is traded for. */
const traded = async (url: string): Promise<string> => {
  const { pathname, search } = new URL(url);
  const answer = await ask(`GET ${pathname}${search} HTTP/1.1`, []);
  assert.equal(statusOf(answer), 303, answer);
  assert.match(answer, /^Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r$/m);
  return /^Set-Cookie: __Host-holdfast=(hfv_[\w-]+);/m.exec(answer)?.[1] ?? assert.fail(answer);
};
const anyToken = /hf[a-z]?_[A-Za-z0-9_-]{43}/;

test("94: whatever the platform goes by, the app gets none of it, and what is its own to the byte", async () => {
  const ownerSession = await instance.ownerToken();
  const ticket = await site.ticket();
  const share = await site.share();
  const visits = [await traded(ticket), await traded(share.url)];
  const own = [
    'Cookie: theme="dark; a"; sid=0123',
    "Authorization: Basic dXNlcjpwYXNz",
    "X-Odd:   spaced\tout",
  ];
  const shown: readonly (readonly string[])[] = [
    [`Holdfast-Key: ${assistant.secret}`, ...own],
    [`HOLDFAST-key: ${ownerSession}`, ...own],
    ...visits.map((visit) => [`Cookie: __Host-holdfast=${visit}`, ...own]),
    [`Cookie: theme="dark; __Host-holdfast=${visits[0]}; a"; sid=0123`, ...own.slice(1)],
    [`Holdfast-Key: ${assistant.secret}`, `Cookie: __host-HOLDFAST=${visits[1]}`, ...own],
    [`Holdfast-Key: ${assistant.secret}`, `Referer: ${share.url}`, ...own],
    [`Holdfast-Key: ${assistant.secret}`, `Referer: ${ticket.replace("/.holdfast", "/%2Eholdfast")}`, ...own],
  ];
  for (const lines of shown) {
    const answer = await ask("GET /mine?q=%2F..%2f&x=a+b&&=&ü HTTP/1.1".replace("ü", "%C3%BC"), lines);
    assert.equal(statusOf(answer), 200, answer);
    assert.doesNotMatch(answer, anyToken, lines.join("\n"));
    const got = JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)) as {
      readonly url: string;
      readonly headers: readonly string[];
    };
    assert.equal(got.url, "/mine?q=%2F..%2f&x=a+b&&=&%C3%BC");
    for (const [name, value] of [
      ["Authorization", "Basic dXNlcjpwYXNz"],
      ["X-Odd", "spaced\tout"],
    ] as const)
      assert.equal(got.headers[got.headers.indexOf(name) + 1], value, name);
    assert.equal(
      got.headers[got.headers.indexOf("Cookie") + 1]?.replaceAll(/\s+/g, ""),
      'theme="dark;a";sid=0123',
    );
    assert.equal(got.headers[got.headers.indexOf("Host") + 1], host);
  }
  assert.doesNotMatch(JSON.stringify(await site.seen()), anyToken);
});

test("94: a credential is taken out of a body's trailers, too, and one in Authorization is refused in any form", async () => {
  const key = `Holdfast-Key: ${assistant.secret}`;
  const chunked = await ask(
    "POST /trailers HTTP/1.1",
    [key, "Transfer-Encoding: chunked", "Trailer: Holdfast-Key"],
    `1\r\nx\r\n0\r\n${key}\r\nCookie: __Host-holdfast=hfv_${"a".repeat(43)}\r\n\r\n`,
  );
  assert.doesNotMatch(chunked, anyToken);
  const session = await instance.ownerToken();
  const visit = await traded((await site.share()).url);
  await site.publish();
  try {
    for (const credential of [assistant.secret, session, visit])
      for (const value of [
        `Bearer ${credential}`,
        `bEARER  ${credential}`,
        credential,
        `Token ${credential}`,
        `Token token="${credential}"`,
        `Basic ${Buffer.from(`x:${credential}`).toString("base64")}`,
        `Basic ${Buffer.from(`${credential}:`).toString("base64")}`,
      ])
        for (const lines of [[`Authorization: ${value}`], [key, `Authorization: ${value}`]]) {
          const answer = await ask("GET /misplaced HTTP/1.1", lines);
          assert.equal(statusOf(answer), 400, `${lines.join(" ")}: ${answer}`);
        }
    const seen = (await site.seen()).filter(({ url }) => url !== "/trailers");
    assert.deepEqual(
      seen.filter(({ url }) => url === "/misplaced"),
      [],
    );
  } finally {
    await site.unpublish();
  }
});

test("94: the gateway's own paths never reach an app, however they are spelled, also of a published project", async () => {
  await site.publish();
  const { url } = await site.share();
  const { search } = new URL(url);
  try {
    const before = (await site.seen()).length;
    for (const path of [
      "/.holdfast/share",
      "/.holdfast/",
      "/.holdfast",
      "/.holdfast/other",
      "/%2eholdfast/share",
      "/.%68oldfast/share",
      "//.holdfast/share",
      "/.HOLDFAST/share",
      "/.holdfast%2fshare",
      "/.holdfast/../share",
      "/x/../.holdfast/share",
    ])
      for (const method of ["GET", "POST", "HEAD", "OPTIONS"]) {
        const answer = await ask(`${method} ${path}${search} HTTP/1.1`, ["Content-Length: 0"]);
        assert.notEqual(statusOf(answer), 200, `${method} ${path}`);
        if (statusOf(answer) === 303) assert.equal(`${method} ${path}`, "GET /.holdfast/share");
      }
    assert.deepEqual((await site.seen()).slice(before), [], slug);
  } finally {
    await site.unpublish();
  }
});
