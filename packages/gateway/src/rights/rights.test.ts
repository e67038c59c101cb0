import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import {
  bodyOf,
  domain,
  everything,
  startBed,
  startTestApp,
  statusOf,
  until,
} from "../../../../test/support/gateway/bed.ts";

const get = (host: string, more = "", path = "/"): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`;
const upgrade = (host: string, more = ""): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

test("100: without a right every host answers the same, and nothing is asked, started or recorded", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const shut = await bed.project("known", app.port);
  const partly = await bed.project("hooks", app.port, [{ methods: ["POST"], path: "/hooks/*" }]);
  const gone = await bed.project("gone", app.port);
  const nothingYet = await bed.project("empty", undefined);
  bed.control.route({ ...gone.route, removed: true });
  const hosts = [
    shut.host,
    partly.host,
    gone.host,
    nothingYet.host,
    `never.${domain}`,
    `80--known.${domain}`,
    `80--never.${domain}`,
  ];
  // Only where the address itself is said may the pages differ.
  const same = (answer: string, host: string): string =>
    answer.replaceAll(host, "<host>").replace(/Content-Length: \d+/, "");
  for (const accept of ["text/html", "application/json", "*/*"]) {
    for (const request of [get, upgrade]) {
      const answers = new Set<string>();
      for (const host of hosts)
        answers.add(same(await bed.raw(request(host, `Accept: ${accept}\r\n`), 150), host));
      const [answer = "", ...others] = answers;
      assert.deepEqual(others, [], accept);
      assert.equal(statusOf(answer), 404);
      assert.match(answer, /\/sign-in\?to=<host>/);
      // Where no project can be, it says where they are, and no more than that.
      const elsewhere = new Set<string>();
      for (const host of [domain, "127.0.0.2"]) {
        const answer = await bed.raw(request(host, `Accept: ${accept}\r\n`), 150);
        elsewhere.add(same(answer.replaceAll(`.${domain}, each`, ".<domain>, each"), host));
      }
      const [told = "", ...more] = elsewhere;
      assert.deepEqual(more, [], accept);
      assert.equal(statusOf(told), 404);
      assert.match(told, /Projects are at (<|&lt;)slug(>|&gt;)\.<domain>, each/);
      assert.match(told, /\/sign-in\?to=<host>/);
    }
  }
  assert.equal(app.seen.length, 0);
  assert.equal(shut.agent.connections + partly.agent.connections + nothingYet.agent.connections, 0);
  assert.deepEqual(bed.control.calls, []);
  assert.deepEqual(bed.control.records, []);
});

test("100: a credential that gives no right costs one question for every host, and answers 401 for every host", async (context) => {
  const bed = await startBed(context);
  const shut = await bed.project("known", (await startTestApp(context)).port);
  for (const credential of [
    "Holdfast-Key: hf_x",
    "Cookie: __Host-holdfast=x",
    "Holdfast-Key:",
    `Holdfast-Key: ${"x".repeat(500)}`,
  ]) {
    for (const host of [shut.host, `never.${domain}`, `80--known.${domain}`, domain]) {
      bed.control.calls.length = 0;
      assert.equal(statusOf(await bed.raw(get(host, `${credential}\r\n`))), 401, `${credential} ${host}`);
      assert.deepEqual(
        bed.control.calls.map(({ method }) => method),
        ["right.find"],
      );
    }
  }
  assert.equal(shut.agent.connections, 0);
  await bed.control.stop();
  for (const host of [shut.host, `never.${domain}`])
    assert.equal(statusOf(await bed.raw(get(host, "Holdfast-Key: hf_x\r\n"))), 503, host);
});

test("94: what the platform goes by never reaches an app, and what is the app's reaches it unchanged", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port);
  project.allow("header", "hf_secret");
  project.allow("cookie", "session-secret");
  const sent = [
    `Holdfast-Key: hf_secret\r\nAuthorization: Basic  dTpw\r\nCookie: a="1 2";b\r\n`,
    `Cookie: app=1; __Host-holdfast=session-secret; other=2\r\nReferer: http://${project.host}/.holdfast/ticket?t=ticket-secret\r\n`,
    `Cookie: __Host-holdfast=session-secret\r\nReferer: http://${project.host}/page?q\r\n`,
    `Cookie: __Host-holdfast=session-secret\r\nCookie: second=line\r\n`,
    `Holdfast-Key: hf_secret\r\nCookie: __Host-holdfast=session-secret; x=y\r\n`,
  ];
  for (const lines of sent) assert.equal(statusOf(await bed.raw(get(project.host, lines))), 200, lines);
  const own = app.seen.map(({ headers }) =>
    headers.flatMap((name, index) =>
      index % 2 === 0 && /^(cookie|authorization|referer|holdfast)/i.test(name)
        ? [`${name}: ${headers[index + 1]}`]
        : [],
    ),
  );
  assert.deepEqual(own, [
    ["Authorization: Basic  dTpw", `Cookie: a="1 2";b`],
    ["Cookie: app=1; other=2"],
    [`Referer: http://${project.host}/page?q`],
    ["Cookie: second=line"],
    ["Cookie: x=y"],
  ]);
  assert.doesNotMatch(JSON.stringify(app.seen), /secret/);
  const key = `hf_${"a".repeat(43)}`;
  const misplaced = await bed.raw(
    get(project.host, `Holdfast-Key: hf_secret\r\nAuthorization: Bearer ${key}\r\n`),
  );
  assert.equal(statusOf(misplaced), 400);
  assert.equal(app.seen.length, sent.length);
});

test("a ticket or a share link is traded for a cookie of that origin alone, and nothing else is under the prefix", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, everything);
  const session = { token: "session", expires_at_ms: Date.now() + 3_600_000 };
  bed.control.trades.set(`${project.route.project_id} ticket good`, session);
  bed.control.trades.set(`${project.route.project_id} share link`, session);
  const own = (path: string, more = ""): Promise<string> => bed.raw(get(project.host, more, path));

  const traded = await own(
    "/.holdfast/ticket?t=good",
    "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
  );
  assert.equal(statusOf(traded), 303, traded);
  assert.match(traded, /\r\nLocation: \/\r\n/);
  assert.match(traded, /\r\nCache-Control: no-store\r\n/);
  assert.match(traded, /\r\nReferrer-Policy: no-referrer\r\n/);
  assert.match(
    traded,
    /\r\nSet-Cookie: __Host-holdfast=session; Path=\/; Max-Age=35\d\d; Secure; HttpOnly; SameSite=Lax\r\n/,
  );
  assert.equal(statusOf(await own("/.holdfast/ticket?t=good")), 401, "a ticket works once");
  assert.equal(statusOf(await own("/.holdfast/share?t=link")), 303);
  assert.equal(statusOf(await own("/.holdfast/share?t=link")), 303);
  for (const path of [
    "/.holdfast/ticket",
    "/.holdfast/ticket?t=",
    "/.holdfast/share?t=other",
    "/.holdfast/share?t=link&t=link",
  ])
    assert.equal(statusOf(await own(path)), 401, path);
  for (const path of [
    "/.holdfast/",
    "/.holdfast",
    "/.holdfast/other",
    "/.holdfast/share/?t=link",
    "/%2eholdfast/share?t=link",
    "/.%68oldfast/x",
    "//.holdfast/share?t=link",
    "/.HOLDFAST/share",
  ])
    assert.equal(statusOf(await own(path)), 404, path);
  // Not by a page's own script, or a worker of it.
  assert.equal(statusOf(await own("/.holdfast/share?t=link", "Sec-Fetch-Mode: cors\r\n")), 404);
  // Not in a frame of another page.
  const framed = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n";
  assert.equal(statusOf(await own("/.holdfast/share?t=link", framed)), 404);
  for (const method of ["POST", "HEAD", "PUT"])
    assert.equal(
      statusOf(await bed.raw(get(project.host, "", "/.holdfast/share?t=link").replace("GET", method))),
      404,
    );
  assert.equal(statusOf(await bed.raw(get(`never.${domain}`, "", "/.holdfast/share?t=link"))), 401);
  assert.equal(app.seen.length, 0);
  assert.equal(statusOf(await own("/.holdfast-app/x")), 200, "an app's own path that only looks like it");
});

test("96: a cookie does not work for what another site makes a browser send", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port);
  project.allow("cookie", "s");
  project.allow("header", "k");
  const own = `http://${project.host}`;
  const rows: readonly (readonly [request: string, lines: string, status: number])[] = [
    ["GET", "", 200],
    ["GET", "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", 200],
    ["GET", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", 200],
    ["GET", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n", 200],
    ["GET", "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n", 404],
    ["GET", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n", 404],
    ["GET", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n", 404],
    // Followed, and passed on by the app's own worker.
    ["GET", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: empty\r\n", 200],
    ["GET", "Origin: http://evil.test\r\n", 404],
    ["POST", "", 200],
    ["POST", `Origin: ${own}\r\n`, 200],
    ["POST", `Sec-Fetch-Site: same-origin\r\nOrigin: ${own}\r\n`, 200],
    ["POST", "Origin: http://evil.test\r\n", 403],
    ["POST", `Origin: http://other.${domain}\r\n`, 403],
    ["POST", `Origin: https://${project.host}\r\n`, 403],
    ["POST", "Origin: null\r\n", 403],
    ["POST", `Sec-Fetch-Site: same-site\r\nOrigin: http://other.${domain}\r\n`, 403],
    ["POST", `Sec-Fetch-Site: cross-site\r\nOrigin: ${own}\r\n`, 403],
    ["POST", "Sec-Fetch-Site: same-origin\r\nOrigin: http://evil.test\r\n", 403],
    ["DELETE", "Origin: http://evil.test\r\n", 403],
  ];
  for (const [method, lines, status] of rows) {
    const request = get(project.host, `Cookie: __Host-holdfast=s\r\n${lines}`).replace("GET", method);
    assert.equal(statusOf(await bed.raw(request)), status, `${method} ${lines}`);
  }
  const before = app.seen.length;
  for (const origin of ["http://evil.test", `http://other.${domain}`, "null"]) {
    const request = upgrade(project.host, `Cookie: __Host-holdfast=s\r\nOrigin: ${origin}\r\n`);
    assert.equal(statusOf(await bed.raw(request, 300)), 403, origin);
  }
  assert.equal(app.seen.length, before);
  // A key in a header is never sent by a browser on its own.
  assert.equal(
    statusOf(await bed.raw(get(project.host, "Holdfast-Key: k\r\nOrigin: http://evil.test\r\n"))),
    200,
  );
});

test("other ports than the web service's are for rights that reach them, also of a published project", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, everything);
  project.allow("header", "all", { ports: true });
  project.allow("header", "web", { id: "web", ports: false });
  const host = `20000--mine.${domain}`;
  assert.equal(statusOf(await bed.raw(get(host))), 404);
  assert.equal(statusOf(await bed.raw(get(host, "Holdfast-Key: web\r\n"))), 404);
  assert.equal(statusOf(await bed.raw(get(host, "Holdfast-Key: all\r\n"))), 200);
  assert.equal(statusOf(await bed.raw(get(`8080--mine.${domain}`, "Holdfast-Key: all\r\n"))), 502);
});

test("what a part of a project is published by decides about method and path as the app will see them", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, [{ methods: ["POST"], path: "/hooks/*" }]);
  const post = (path: string, more = ""): Promise<string> =>
    bed.raw(get(project.host, more, path).replace("GET", "POST"));
  assert.equal(
    statusOf(await post("/hooks/a?b=../c", "X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /admin\r\n")),
    200,
  );
  assert.doesNotMatch(JSON.stringify(app.seen), /admin|DELETE/);
  for (const path of ["/", "/hooks", "/admin", "/hooks/..%2fadmin", "/hooks//x", "/hooks/%2e%2e;/admin"])
    assert.equal(statusOf(await post(path)), 404, path);
  assert.equal(statusOf(await bed.raw(get(project.host, "", "/hooks/a"))), 404);
  assert.equal(app.seen.length, 1);
});

test("visits that were let in are recorded, with whose right it was; nothing else is", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port);
  project.allow("header", "k", { subject: "asst_1", who: "assistant" });
  await bed.raw(get(project.host));
  await bed.raw(get(project.host, "Holdfast-Key: other\r\n"));
  const body = bodyOf(
    await bed.raw(
      get(project.host, "Holdfast-Key: k\r\nContent-Length: 3\r\n", "/a?secret=1").replace("GET", "POST") +
        "abc",
    ),
  );
  assert.match(body, /secret/);
  await until(() => bed.control.records.length > 0);
  const [{ at_ms, duration_ms, sent_bytes, ...record }, ...more] = bed.control.records as [
    (typeof bed.control.records)[0],
  ];
  assert.deepEqual(more, []);
  assert.ok(Math.abs(at_ms - Date.now()) < 10_000 && duration_ms >= 0 && sent_bytes > body.length);
  assert.deepEqual(record, {
    project_id: project.route.project_id,
    port: null,
    method: "POST",
    path: "/a",
    status: 200,
    received_bytes: 3,
    subject: "asst_1",
  });
});

test("a network that shows wrong credentials again and again is told to wait; rights that hold go on", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port);
  project.allow("header", "k");
  const own = (): Promise<string> => bed.raw(get(project.host, "Holdfast-Key: k\r\n"));
  assert.equal(statusOf(await own()), 200);
  const known = get(project.host, "Holdfast-Key: other\r\n");
  const wrong = [
    ...Array.from({ length: limits.unknownCredentialsPerWindow + 20 }, (_, index) =>
      get(`never.${domain}`, `Holdfast-Key: wrong-${index}\r\n`),
    ),
    known,
    get(project.host, "", "/.holdfast/share?t=x"),
    get(project.host, "Holdfast-Key: k\r\n"),
  ];
  const answers = await bed.raw(wrong.join("").replaceAll("Connection: close\r\n", ""), 500);
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  assert.equal(statuses.length, wrong.length);
  // Some of what it may show was shown while the routes were waited for.
  const surely = limits.unknownCredentialsPerWindow - 10;
  assert.ok(statuses.slice(0, surely).every((status) => status === "401"));
  assert.deepEqual(statuses.slice(-3), ["429", "429", "200"]);
  bed.advance(60_000);
  await until(async () => statusOf(await own()) === 200);
  assert.equal(statusOf(await bed.raw(known)), 401);
});
