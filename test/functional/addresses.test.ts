import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { createComputer } from "../support/computer.ts";
import { openSite, type Site } from "../support/site/site.ts";
import { dial, frame, head, type Talk, webSocketLines } from "../support/talk.ts";
import { until } from "../support/until.ts";
import { useComputer } from "../support/use.ts";
import { visit } from "../support/visit.ts";

const used = await useComputer();
const { instance, assistant } = used;
const site = await openSite(used, "app");
const { port } = instance.projects;
const key = `Holdfast-Key: ${assistant.secret}`;
const byKey = { "holdfast-key": assistant.secret };

/** A second is promised; what is asserted leaves room for a slow machine, and the figure is said. */
const closedWithinMs = 5000;

/** The cookie a link is traded for, as a header line. */
const cookieOf = async (url: string, { host }: Site = site): Promise<string> => {
  const { pathname, search } = new URL(url);
  const talk = await dial(port, head(`GET ${pathname}${search} HTTP/1.1`, host, ["Connection: close"]));
  await talk.closes();
  const token = /^Set-Cookie: (__Host-holdfast=hfv_[\w-]+);/m.exec(talk.text)?.[1];
  return `Cookie: ${token ?? assert.fail(talk.text)}`;
};
const emit = async (text: string): Promise<void> => {
  assert.equal(
    (await visit(instance, site.slug, { path: `/emit?text=${text}`, headers: byKey })).status,
    200,
  );
};
/** A WebSocket, an event stream and an answer in chunks, all open and proven to work. */
const openAll = async (credential: readonly string[], { host } = site): Promise<readonly Talk[]> => {
  const socket = await dial(port, head("GET /ws HTTP/1.1", host, [...webSocketLines, ...credential]));
  await socket.hears("HTTP/1.1 101 ");
  socket.send(frame("hello"));
  await socket.hears("hello");
  const streams = await Promise.all(
    ["/sse", "/chunks"].map((path) => dial(port, head(`GET ${path} HTTP/1.1`, host, credential))),
  );
  for (const stream of streams) await stream.hears("HTTP/1.1 200 ");
  return [socket, ...streams];
};

test("a WebSocket through a private address with a valid right gets 101, and talks; without one it gets no login page but the 404 of everyone", async () => {
  const ticket = await cookieOf(await site.ticket());
  const share = await cookieOf((await site.share()).url);
  for (const credential of [[key], [ticket], [share], [ticket, `Origin: ${site.origin}`]]) {
    const talk = await dial(port, head("GET /ws HTTP/1.1", site.host, [...webSocketLines, ...credential]));
    await talk.hears(/^HTTP\/1\.1 101 /);
    assert.match(talk.text, /^Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/im);
    for (const text of ["one", "two"]) {
      talk.send(frame(text));
      await talk.hears(`${String.fromCharCode(0x81, text.length)}${text}`);
    }
    talk.end();
  }
  const nobody = await dial(port, head("GET /ws HTTP/1.1", site.host, webSocketLines));
  await nobody.hears(/^HTTP\/1\.1 404 /);
  nobody.end();
});

test("events and chunks are not buffered: each is there before the next is made", async () => {
  const streams = (await openAll([await cookieOf(await site.ticket())])).slice(1);
  for (const text of ["alpha", "beta", "gamma"]) {
    await emit(text);
    for (const stream of streams) await stream.hears(text, 2000);
  }
  for (const stream of streams) stream.end();
});

/** What ends what is open, how, and by whose credential it is open. */
const endings: readonly {
  readonly what: string;
  readonly open: () => Promise<{
    readonly credential: readonly string[];
    readonly end: () => Promise<unknown>;
  }>;
}[] = [
  {
    what: "unpublish",
    open: async () => {
      await site.publish();
      const owner = await instance.owner();
      return { credential: [], end: () => owner.projects.unpublish({ project: site.slug }) };
    },
  },
  {
    what: "narrower publishing",
    open: async () => {
      await site.publish();
      const owner = await instance.owner();
      const rules = [{ methods: ["POST"], path: "/hooks/*" }];
      return { credential: [], end: () => owner.projects.publish({ project: site.slug, rules }) };
    },
  },
  {
    what: "a share's revocation",
    open: async () => {
      const { id, url } = await site.share();
      const owner = await instance.owner();
      const end = () => owner.shares.revoke({ project: site.slug, share: id });
      return { credential: [await cookieOf(url)], end };
    },
  },
  {
    what: "signing out, of what the session's ticket opened",
    open: async () => {
      const session = await signIn();
      const { url } = await session.projects.open({ project: site.slug });
      return { credential: [await cookieOf(url)], end: () => session.sessions.delete() };
    },
  },
];

/** Another session of the owner than the one that all tests share. */
const signIn = async (): Promise<HoldfastClient> => {
  await instance.ownerToken();
  const { passphrase } = JSON.parse(await readFile(join(instance.data, "test-owner.json"), "utf8")) as {
    readonly passphrase: string;
  };
  const { token } = await createClient({ baseUrl: instance.url }).sessions.create({
    name: "owner",
    passphrase,
  });
  return createClient({ baseUrl: instance.url, token });
};

const privateWhileOpen = async (
  context: TestContext,
  at: Site,
  { credential, end }: Awaited<ReturnType<(typeof endings)[number]["open"]>>,
): Promise<void> => {
  const opened = await openAll(credential, at);
  const kept = await dial(port, head("GET /kept HTTP/1.1", at.host, credential));
  await kept.hears('"url":"/kept"');
  await end();
  const since = performance.now();
  const closed = await Promise.all(opened.map((talk) => talk.closes(closedWithinMs)));
  context.diagnostic(`all closed ${Math.round(Math.max(...closed) - since)} ms after the reply`);
  // A connection that was kept is no way in, and is told what everyone is told.
  const refusal = new RegExp(`^HTTP/1\\.1 ${credential.length === 0 ? 404 : 401} `);
  const before = kept.text.length;
  kept.send(head("GET /again HTTP/1.1", at.host, credential));
  await until("it is answered or closed", () => kept.text.length > before || kept.closedAt !== undefined);
  if (kept.text.length > before) assert.match(kept.text.slice(before), refusal);
  const fresh = await dial(port, head("GET /again HTTP/1.1", at.host, credential));
  await fresh.hears(refusal);
  for (const talk of [kept, fresh]) talk.end();
};

for (const { what, open } of endings)
  test(`private while a socket is open: it closes. By ${what}`, async (context) => {
    try {
      await privateWhileOpen(context, site, await open());
      assert.ok((await site.seen()).every(({ url }) => url !== "/again"));
    } finally {
      await site.unpublish();
    }
  });

test("private while a socket is open: it closes. By a key's revocation", async (context) => {
  const leaving = await instance.assistant();
  const theirs = await openSite(
    { instance, assistant: leaving, computer: await createComputer(leaving) },
    "left",
  );
  const owner = await instance.owner();
  await privateWhileOpen(context, theirs, {
    credential: [`Holdfast-Key: ${leaving.secret}`],
    end: () => owner.keys.revoke({ key: leaving.keyId }),
  });
});

test("rights revoked: who comes a second later is refused, whatever was served before", async (context) => {
  const { id, url } = await site.share();
  const cookie = await cookieOf(url);
  const status = async (): Promise<number> =>
    (await visit(instance, site.slug, { path: "/mine", headers: { cookie: cookie.slice(8) } })).status;
  // In use all the time, which is what would keep it in a memory.
  for (let count = 0; count < 20; count += 1) assert.equal(await status(), 200);
  await (await instance.owner()).shares.revoke({ project: site.slug, share: id });
  const since = performance.now();
  await until("it is refused", async () => (await status()) === 401, { withinMs: closedWithinMs });
  context.diagnostic(`refused ${Math.round(performance.now() - since)} ms after the revocation's reply`);
  for (let count = 0; count < 20; count += 1) assert.equal(await status(), 401);
  const { pathname, search } = new URL(url);
  assert.equal((await visit(instance, site.slug, { path: `${pathname}${search}` })).status, 401);
});

test("query strings survive, to the byte", async () => {
  for (const target of [
    "/q?",
    "/q??&&==",
    "/q?a=%2f%2E%2e/../&b=+%20&c=%00%FF&t=hft_x",
    "/q?u=http://x.example/?y=1;2|3^4`5\\6{7}[8]'9",
    `/q?${"long=0123456789&".repeat(900)}`,
  ]) {
    const talk = await dial(port, head(`GET ${target} HTTP/1.1`, site.host, [key, "Connection: close"]));
    await talk.closes();
    const body = talk.text.slice(talk.text.indexOf("\r\n\r\n") + 4);
    const { url } = JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as {
      readonly url: string;
    };
    assert.equal(url, target, talk.text.slice(0, 300));
  }
});

const hundredMegabytes = 100 * 1024 * 1024;

test("100 MB down to a slow reader have the right hash", { timeout: 120_000 }, async () => {
  const expected = createHash("sha256");
  const block = Buffer.alloc(1024 * 1024, "0123456789abcdef");
  for (let count = 0; count < 100; count += 1) expected.update(block);
  const hash = createHash("sha256");
  let bytes = 0;
  const path = `/down?bytes=${hundredMegabytes}`;
  const headers = { ...byKey, host: site.host };
  await new Promise<void>((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, headers, agent: false });
    sent.once("error", reject);
    sent.once("response", (response) => {
      let pauses = 0;
      response.on("data", (piece: Buffer) => {
        bytes += piece.length;
        hash.update(piece);
        // Slow: now and then it reads nothing for a while.
        if (bytes / 4_000_000 > pauses) {
          pauses += 1;
          response.pause();
          setTimeout(() => response.resume(), 50);
        }
      });
      response.once("error", reject);
      response.once("end", resolve);
    });
    sent.end();
  });
  assert.equal(bytes, hundredMegabytes);
  assert.equal(hash.digest("hex"), expected.digest("hex"));
});

test("a large upload gets back-pressure and then goes through, with the right hash", {
  timeout: 120_000,
}, async (context) => {
  const block = Buffer.alloc(64 * 1024, "fedcba9876543210");
  const blocks = hundredMegabytes / block.length;
  const expected = createHash("sha256");
  for (let count = 0; count < blocks; count += 1) expected.update(block);
  const talk = await dial(
    port,
    head("POST /held HTTP/1.1", site.host, [key, `Content-Length: ${hundredMegabytes}`, "Connection: close"]),
  );
  let sent = 0;
  const send = (): void => {
    while (sent < blocks) {
      sent += 1;
      if (!talk.socket.write(block)) return void talk.socket.once("drain", send);
    }
  };
  send();
  await until("the app has it", async () => (await site.seen()).some(({ url }) => url === "/held"));
  // Nobody reads: it stops by itself, far from the end.
  let before = -1;
  await until("no more of it is taken", async () => {
    const now = talk.socket.bytesWritten - talk.socket.writableLength;
    const stands = now === before;
    before = now;
    if (!stands) await new Promise((resolve) => setTimeout(resolve, 500));
    return stands;
  });
  context.diagnostic(`${Math.round(before / 1024)} KiB were taken while the app read nothing`);
  assert.ok(before < hundredMegabytes / 3, `${before} bytes were taken`);
  await emit("go");
  await talk.closes(90_000);
  assert.match(talk.text, /^HTTP\/1\.1 200 /);
  assert.ok(
    talk.text.includes(`{"bytes":${hundredMegabytes},"hash":"${expected.digest("hex")}"}`),
    talk.text,
  );
});
