import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer } from "../support/computer.ts";
import { openSite, type Site } from "../support/site/site.ts";
import { dial, head, type Talk } from "../support/talk.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const { port } = instance.projects;
const neighbour = await instance.assistant();
const one = await openSite({ instance, assistant, computer: await createComputer(assistant) }, "one");
const two = await openSite(
  { instance, assistant: neighbour, computer: await createComputer(neighbour) },
  "two",
);
await one.publish();
await two.publish();

/** How often it is tried: whether a connection is used again is a matter of order and time. */
const rounds = 25;

/** The status of the next answer on the connection and what it says, from the byte `from` on. */
const answers = (text: string): readonly { readonly status: number; readonly body: string }[] =>
  text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part.startsWith("HTTP/1.1"))
    .map((part) => ({
      status: Number(part.slice(9, 12)),
      body: part.slice(part.indexOf("\r\n\r\n") + 4),
    }));
const count = (text: string, what: RegExp): number => text.match(new RegExp(what, "g"))?.length ?? 0;
const seenOf = async (site: Site, mark: string): Promise<readonly string[]> =>
  (await site.seen()).filter(({ url }) => url.includes(mark)).map(({ method, url }) => `${method} ${url}`);

test("99: on one connection each answer is of the project that was asked, also when all are asked for at once", async () => {
  const plan = Array.from({ length: 60 }, (_, number) => ({ site: number % 3 === 0 ? two : one, number }));
  const bytes = plan.map(({ site, number }) =>
    number % 2 === 0
      ? head(`GET /pipelined?n=${number} HTTP/1.1`, site.host)
      : `${head(`POST /pipelined?n=${number} HTTP/1.1`, site.host, ["Content-Length: 6"])}n=${String(number).padStart(4)}`,
  );
  const talk = await dial(port, bytes.join(""));
  await until("all are answered", () => answers(talk.text).length === plan.length, {
    detail: () => talk.text.slice(-300),
  });
  for (const [index, { body, status }] of answers(talk.text).entries()) {
    const { site, number } = plan[index] ?? assert.fail();
    assert.equal(status, 200);
    assert.match(
      body,
      new RegExp(`"app":"${site === two ? "two" : "one"}".*"url":"/pipelined\\?n=${number}"`),
    );
  }
  talk.end();
});

/** A request to the first project that hides one to the second in what may be read as its body, or as the next request. */
const hidden = (mark: string): string => head(`GET /${mark} HTTP/1.1`, two.host);
const ambiguous: Readonly<Record<string, (mark: string) => string>> = {
  "length and chunks": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Content-Length: 5", "Transfer-Encoding: chunked"])}0\r\n\r\n${hidden(mark)}`,
  "chunks spelled oddly": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Content-Length: 5", "Transfer-Encoding: xchunked"])}0\r\n\r\n${hidden(mark)}`,
  "chunks with a space before the colon": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Content-Length: 5", "Transfer-Encoding : chunked"])}0\r\n\r\n${hidden(mark)}`,
  "two lengths": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Content-Length: 0", `Content-Length: ${hidden(mark).length}`])}${hidden(mark)}`,
  "a length with a sign": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Content-Length: +0"])}${hidden(mark)}`,
  "two hosts": (mark) => `${head(`GET /${mark} HTTP/1.1`, one.host, [`Host: ${two.host}`])}${hidden(mark)}`,
  "a target that names the other": (mark) =>
    `${head(`GET http://${two.host}/${mark} HTTP/1.1`, one.host)}${hidden(mark)}`,
  "a bare line feed": (mark) => `GET /a HTTP/1.1\nHost: ${one.host}\n\n${hidden(mark)}`,
  "a continued line": (mark) => `${head("GET /a HTTP/1.1", one.host, ["X: 1", " y"])}${hidden(mark)}`,
  "a chunk longer than it says": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Transfer-Encoding: chunked"])}1\r\nxx\r\n0\r\n\r\n${hidden(mark)}`,
  "a chunk of a length no number holds": (mark) =>
    `${head("POST /a HTTP/1.1", one.host, ["Transfer-Encoding: chunked"])}fffffffffffffffff\r\nx\r\n0\r\n\r\n${hidden(mark)}`,
};

for (const [what, bytesOf] of Object.entries(ambiguous))
  test(`99: ${what}: 400, the connection ends, and what is hidden in it reaches nobody`, async () => {
    const mark = `hidden-${what.replaceAll(/\W/g, "-")}`;
    const talk = await dial(port, bytesOf(mark));
    await talk.closes();
    const all = answers(talk.text);
    assert.equal(all.length, 1, talk.text);
    assert.equal(all[0]?.status, 400, talk.text);
    for (const site of [one, two]) assert.deepEqual(await seenOf(site, mark), []);
  });

test("99: what is a body is a body: a request in it is not made", async () => {
  const inner = hidden("inner-request");
  for (let round = 0; round < rounds; round += 1) {
    const talk = await dial(
      port,
      `${head("POST /outer HTTP/1.1", one.host, [`Content-Length: ${inner.length}`])}${inner}${head("GET /next HTTP/1.1", two.host)}`,
    );
    await until("both are answered", () => answers(talk.text).length === 2, { detail: () => talk.text });
    const [outer, next] = answers(talk.text);
    assert.match(outer?.body ?? "", /"app":"one".*"url":"\/outer"/);
    assert.match(next?.body ?? "", /"app":"two".*"url":"\/next"/);
    talk.end();
  }
  assert.deepEqual(await seenOf(two, "inner-request"), []);
  assert.deepEqual(await seenOf(one, "inner-request"), []);
});

/** Answers of an app that tries to have its bytes taken for the answer to somebody else's request. */
const lie = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned";
const lies: Readonly<Record<string, string>> = {
  "a second answer behind the first": `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${lie}`,
  "a second answer behind an empty one": `HTTP/1.1 204 No Content\r\n\r\n${lie}`,
  "a body behind an answer that has none": `HTTP/1.1 304 Not Modified\r\nContent-Length: 8\r\n\r\n${lie}`,
  "a second answer behind the last chunk": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${lie}`,
  "length and chunks": `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${lie}`,
  "two lengths": `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nok${lie}`,
  "an interim answer, and more answers than requests": `HTTP/1.1 103 Early Hints\r\n\r\n${"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}${lie}`,
  "a switch of protocols that nobody asked for": `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n${lie}`,
};

for (const [what, bytes] of Object.entries(lies))
  test(`99: an app that sends ${what} answers nobody else, of its own project or another`, async () => {
    const say = `/say?b=${Buffer.from(bytes).toString("base64url")}`;
    const talks: Talk[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const liar = await dial(port, head(`GET ${say} HTTP/1.1`, one.host));
      talks.push(liar);
      await until("it is answered", () => liar.text.includes("\r\n\r\n") || liar.closedAt !== undefined);
      // Who comes next, on the visitor's same connection and on others, at both projects.
      for (const site of [two, one]) {
        const name = site === two ? "two" : "one";
        const next = await dial(port, head(`GET /next-${round} HTTP/1.1`, site.host));
        talks.push(next);
        await next.hears(`"url":"/next-${round}"`);
        assert.match(next.text, new RegExp(`^HTTP/1\\.1 200 [^]*"app":"${name}"`));
      }
      if (liar.closedAt === undefined) liar.send(head("GET /same HTTP/1.1", two.host));
      await until(
        "the same connection is answered, or closed",
        () => /"url":"\/same"/.test(liar.text) || liar.closedAt !== undefined,
      );
      if (/"url":"\/same"/.test(liar.text))
        assert.match(liar.text, /"app":"two","method":"GET","url":"\/same"/);
      assert.equal(count(liar.text, /poisoned/), 0, liar.text);
    }
    for (const talk of talks) {
      assert.doesNotMatch(talk.text, /poisoned/);
      talk.end();
    }
  });
