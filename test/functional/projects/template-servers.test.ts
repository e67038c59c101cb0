import assert from "node:assert/strict";
import { test } from "node:test";
import { readTemplate } from "../../../packages/control/src/lib/templates.ts";
import { python, run } from "../../support/computer.ts";
import { askInside, type Answer, startTemplate } from "../../support/templates.ts";
import { useComputer } from "../../support/use.ts";

const ports = {
  "static-site": 4101,
  "web-app": 4102,
  api: 4103,
  "webhook-inbox": 4104,
  "feedback-board": 4105,
  "metrics-digest": 4106,
  "scheduled-report": 4107,
} as const;
type Name = keyof typeof ports;
const names = Object.keys(ports) as readonly Name[];

const { assistant, computer } = await useComputer();
const services = new Map<Name, string>();
for (const name of names) services.set(name, await startTemplate(assistant, computer, name, ports[name]));

const ask = (name: Name, path: string, ...options: readonly string[]): Promise<Answer> =>
  askInside(assistant, computer, ports[name], path, ...options);
const contentType = (type: string): readonly string[] => ["-H", `content-type: ${type}`];
const json = (text: unknown): readonly string[] => [
  ...contentType("application/json"),
  "-d",
  JSON.stringify(text),
];
const crossSite = [
  ["-H", "sec-fetch-site: cross-site"],
  ["-H", "sec-fetch-site: same-site"],
  ["-H", "origin: https://elsewhere.example"],
  ["-H", "origin: null"],
] as const;

for (const name of names)
  test(`${name}: ready, with headers that keep browsers careful, and clear about what it does not answer`, async () => {
    const { services: all } = await assistant.client.services.list({ computer });
    assert.equal(all.find((one) => one.name === name)?.state, "ready");
    assert.equal((await ask(name, "/healthz")).status, 200);
    const page = await ask(name, "/");
    assert.equal(page.status, 200);
    assert.match(page.headers["content-type"] ?? "", /^text\/html; charset=utf-8$/);
    assert.match(page.headers["content-security-policy"] ?? "", /default-src 'self'/);
    assert.doesNotMatch(page.headers["content-security-policy"] ?? "", /unsafe/);
    assert.equal(page.headers["x-content-type-options"], "nosniff");
    assert.match(page.body, /<html lang="en">[^]*<title>[^<]+<\/title>/);
    assert.doesNotMatch(page.body, / style="| on[a-z]+="|<script>/, "the policy would refuse it");
    const missing = await ask(name, "/nothing-here", "-H", "accept: text/html");
    assert.equal(missing.status, 404);
    assert.equal(missing.headers["x-content-type-options"], "nosniff");
    const wrong = await ask(name, name === "api" ? "/api/notes" : "/", "-X", "DELETE");
    assert.equal(wrong.status, 405);
    assert.match(wrong.headers["allow"] ?? "", /GET/);
    assert.equal((await ask(name, "/", "-I")).body, "");
  });

test("no template hands out what is beside its public folder", async () => {
  await run(
    assistant,
    computer,
    "cd /work/static-site/public && ln -s ../server.mjs out && echo x > .hidden",
  );
  await run(
    assistant,
    computer,
    "cd /work/static-site/public && mkdir notes && echo hello > notes/index.html",
  );
  const paths = ["/../server.mjs", "/..%2fserver.mjs", "/%2e%2e/server.mjs", "/%2e%2e%2fserver.mjs"];
  const more = [
    "/..%5cserver.mjs",
    "/notes/..%2f..%2fserver.mjs",
    "//server.mjs",
    "/server.mjs%00.css",
    "/%ff",
  ];
  for (const name of names)
    for (const path of [
      ...paths,
      ...more,
      "/server.mjs",
      "/server.py",
      "/data/",
      "/.gitignore",
      "/.hidden",
      "/out",
    ]) {
      const { status, body } = await ask(name, path);
      assert.ok(status === 404 || status === 400, `${name} ${path}: ${status}`);
      assert.doesNotMatch(body, /import|\bserve\b/, `${name} ${path}`);
    }
});

test("static-site: types, addresses without endings, folders, and nothing sent twice", async () => {
  assert.equal((await ask("static-site", "/style.css")).headers["content-type"], "text/css; charset=utf-8");
  assert.equal((await ask("static-site", "/icon.svg")).headers["content-type"], "image/svg+xml");
  assert.match((await ask("static-site", "/about")).body, /<h1>About<\/h1>/);
  const folder = await ask("static-site", "/notes");
  assert.deepEqual([folder.status, folder.headers["location"]], [308, "/notes/"]);
  assert.equal((await ask("static-site", "/notes/")).body, "hello\n");
  const { etag = "" } = (await ask("static-site", "/about")).headers;
  const again = await ask("static-site", "/about", "-H", `if-none-match: "other", ${etag}`);
  assert.deepEqual([again.status, again.body], [304, ""]);
  await run(assistant, computer, "echo changed >> /work/static-site/public/about.html");
  assert.match((await ask("static-site", "/about", "-H", `if-none-match: ${etag}`)).body, /changed\n$/);
});

test("web-app: waves are counted once each, outlive a restart, and reach who watches", async () => {
  const posts = Array.from({ length: 5 }, () => ask("web-app", "/api/waves", "-X", "POST"));
  assert.ok((await Promise.all(posts)).every(({ status }) => status === 200));
  const form = await ask("web-app", "/waves", "-X", "POST", "-H", "sec-fetch-site: same-origin");
  assert.deepEqual([form.status, form.headers["location"]], [303, "/"]);
  for (const headers of crossSite)
    assert.equal((await ask("web-app", "/api/waves", "-X", "POST", ...headers)).status, 403, headers[1]);
  await assistant.client.services.restart({ computer, service: "web-app" });
  assert.equal((JSON.parse((await ask("web-app", "/api/state")).body) as { waves: number }).waves, 6);
  assert.equal((await ask("web-app", "/live", "-I")).headers["content-type"], "text/event-stream");
  const watched = await run(
    assistant,
    computer,
    "(sleep 0.5; curl -sX POST http://127.0.0.1:4102/api/waves) & curl -sN --max-time 3 http://127.0.0.1:4102/live",
  );
  const events = [...watched.stdout.matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data ?? "") as { readonly waves: number; readonly watching: number },
  );
  assert.ok(events.length >= 4, watched.stdout);
  assert.equal(events[0]?.watching, 1);
  assert.equal(events.at(-1)?.waves, 7);
});

test("api: a note's life, and problems that say what to do", async () => {
  const made = await ask("api", "/api/notes", ...json({ title: " Low <tide> ", text: "at 2" }));
  assert.equal(made.status, 201);
  const note = JSON.parse(made.body) as { readonly id: number; readonly title: string };
  assert.equal(note.title, "Low <tide>");
  const path = `/api/notes/${note.id}`;
  assert.equal((await ask("api", path, "-X", "PUT", ...json({ title: "High" }))).status, 200);
  assert.match((await ask("api", path)).body, /"title": "High", "text": ""/);
  for (let index = 0; index < 3; index += 1) await ask("api", "/api/notes", ...json({ title: `n${index}` }));
  const page = JSON.parse((await ask("api", "/api/notes?limit=2")).body) as {
    readonly notes: readonly { readonly title: string }[];
    readonly next: number;
  };
  assert.deepEqual(
    page.notes.map(({ title }) => title),
    ["n2", "n1"],
  );
  assert.match((await ask("api", `/api/notes?limit=2&before=${page.next}`)).body, /"n0"[^]*"High"/);
  assert.equal((await ask("api", path, "-X", "DELETE")).status, 204);

  const problems: readonly (readonly [number, string, ...string[]])[] = [
    [404, path],
    [404, "/api/notes/0x1"],
    [404, "/api/notes/99999999999999999999"],
    [405, "/api/notes", "-X", "PATCH"],
    [400, "/api/notes", "-H", "content-type: application/json", "-d", "{"],
    [415, "/api/notes", "-d", "title=x"],
    [422, "/api/notes", ...json({ title: "", text: 5, colour: "red" })],
    [422, "/api/notes", ...json([])],
    [422, "/api/notes?limit=1000"],
    [413, "/api/notes", ...json({ title: "x".repeat(70_000) })],
    [411, "/api/notes", "-H", "transfer-encoding: chunked", ...json({ title: "x" })],
  ];
  for (const [status, where, ...options] of problems) {
    const { headers, body } = await ask("api", where, ...options);
    assert.equal(headers["content-type"], "application/problem+json", `${where}: ${body}`);
    const problem = JSON.parse(body) as { readonly status: number; readonly detail: string };
    assert.equal(problem.status, status, where);
    assert.ok(problem.detail.length > 10);
  }
  const documentation = (await ask("api", "/")).body;
  for (const method of ["GET", "POST", "PUT", "DELETE"])
    assert.match(documentation, new RegExp(`>${method}<`));
});

test("webhook-inbox: any body is kept byte for byte, shown as text, and credentials are not kept", async () => {
  const script = "<script>alert(1)</script><img src=x onerror=alert(2)>";
  const credentials = ["authorization", "cookie", "x-api-key", "x-gitlab-token", "x-auth-token"];
  const sent = await ask(
    "webhook-inbox",
    "/hooks/shop",
    ...contentType("text/html"),
    ...[
      ...credentials.map((header) => `${header}: very-secret`),
      "x-shop-event: paid",
      "sec-fetch-site: cross-site",
    ].flatMap((header) => ["-H", header]),
    "--data-binary",
    script,
  );
  assert.equal(sent.status, 202);
  const { id } = JSON.parse(sent.body) as { readonly id: number };
  for (const path of ["/", `/hooks/${id}`, "/?name=shop"]) {
    const { body } = await ask("webhook-inbox", path);
    assert.match(body, /&lt;script&gt;alert/);
    assert.ok(
      !body.includes("<script>") && !body.includes("<img src=x") && !body.includes("very-secret"),
      path,
    );
  }
  assert.match((await ask("webhook-inbox", `/hooks/${id}`)).body, /x-shop-event[^]*paid/);
  const raw = await ask("webhook-inbox", `/hooks/${id}/body`);
  assert.equal(raw.headers["content-type"], "application/octet-stream");
  assert.match(raw.headers["content-disposition"] ?? "", /^attachment/);
  assert.equal(raw.body, script);

  const bytes = await run(
    assistant,
    computer,
    `head -c 262144 /dev/urandom > /tmp/max; (cat /tmp/max; echo x) > /tmp/over; cd /tmp
     post() { curl -s -o /tmp/reply -w '%{http_code} ' --data-binary @$1 http://127.0.0.1:4104/hooks/bytes; }
     post max; id=$(tr -dc 0-9 < /tmp/reply); curl -s http://127.0.0.1:4104/hooks/$id/body | cmp - max && echo -n 'same '
     curl -s -o /dev/null -w '%{http_code} ' http://127.0.0.1:4104/hooks/$id; post over`,
  );
  assert.equal(bytes.stdout, "202 same 200 413 ");
});

test("webhook-inbox: the newest 500 stay, and nothing but hooks is a POST below /hooks/", async () => {
  await python(
    assistant,
    computer,
    `
import http.client
c = http.client.HTTPConnection("127.0.0.1", 4104)
for n in range(510):
    c.request("POST", "/hooks/many", str(n)); r = c.getresponse(); assert r.status == 202, r.status; r.read()
import sqlite3
d = sqlite3.connect("/work/webhook-inbox/data/inbox.sqlite")
assert d.execute("select count(*), sum(name = 'many') from hooks").fetchone() == (500, 500)
`,
  );
  const newest = /\/hooks\/(\d+)/.exec((await ask("webhook-inbox", "/")).body)?.[1] ?? "";
  for (const path of [
    `/hooks/${newest}/delete`,
    `/hooks/${newest}/body`,
    "/hooks/",
    "/hooks/UPPER",
    "/hooks/9",
  ])
    assert.ok((await ask("webhook-inbox", path, "-d", "x")).status >= 400, path);
  assert.equal((await ask("webhook-inbox", "/hooks/many")).headers["location"], "/?name=many");
  for (const headers of crossSite)
    assert.equal((await ask("webhook-inbox", `/delete/${newest}`, "-X", "POST", ...headers)).status, 403);
  assert.equal((await ask("webhook-inbox", `/delete/${newest}`, "-X", "POST")).status, 303);
  assert.equal((await ask("webhook-inbox", `/hooks/${newest}`)).status, 404);
});

test("feedback-board: what is written is shown as text, and only what its own pages send is taken", async () => {
  const form = (text: string, ...more: readonly string[]): Promise<Answer> =>
    ask("feedback-board", "/feedback", "-d", "kind=idea", "--data-urlencode", `text=${text}`, ...more);
  const sent = await form('<b>bold</b> & "quoted"', "--data-urlencode", "author=<i>Ada</i>");
  assert.deepEqual([sent.status, sent.headers["location"]], [303, "/#feedback-1"]);
  const { body } = await ask("feedback-board", "/");
  assert.match(body, /&lt;b&gt;bold&lt;\/b&gt; &amp; &quot;quoted&quot;/);
  assert.doesNotMatch(body, /<b>bold|<i>Ada/);
  for (const headers of crossSite) assert.equal((await form("x", ...headers)).status, 403, headers[1]);
  const own = ["-H", "host: board.example", "-H", "origin: https://board.example"];
  assert.equal((await form("second", ...own)).status, 303);
  const long = await form("é".repeat(1001));
  assert.equal(long.status, 422);
  assert.match(long.body, /aria-invalid="true" aria-describedby="text-error"[^]*éééé[^]*at most 1000/);
  assert.equal((await form("x".repeat(20_000))).status, 413);
  assert.equal((await ask("feedback-board", "/feedback", "-d", "kind=other&text=x")).status, 422);
});

test("feedback-board: one vote for each browser, pages, and making room", async () => {
  const vote = await ask("feedback-board", "/feedback/1/vote?sort=top&page=1", "-X", "POST");
  assert.deepEqual([vote.status, vote.headers["location"]], [303, "/?sort=top&page=1#feedback-1"]);
  assert.match(vote.headers["set-cookie"] ?? "", /^voted=1; .*HttpOnly; SameSite=Lax$/);
  const again = await ask("feedback-board", "/feedback/1/vote", "-X", "POST", "-H", "cookie: a=b; voted=1");
  assert.equal(again.headers["set-cookie"], undefined);
  assert.equal((await ask("feedback-board", "/feedback/9/vote", "-X", "POST")).status, 404);
  await python(
    assistant,
    computer,
    `
import http.client
for n in range(30):
    c = http.client.HTTPConnection("127.0.0.1", 4105)
    c.request("POST", "/feedback", f"kind=praise&text=number+{n}"); assert c.getresponse().status == 303
`,
  );
  type Listing = {
    readonly total: number;
    readonly pages: number;
    readonly feedback: readonly { votes: number }[];
  };
  const listing = async (query: string): Promise<Listing> =>
    JSON.parse((await ask("feedback-board", `/feedback.json?${query}`)).body) as Listing;
  const top = await listing("sort=top");
  assert.deepEqual([top.total, top.pages, top.feedback.length, top.feedback[0]?.votes], [32, 2, 20, 1]);
  assert.equal((await listing("page=2")).feedback.length, 12);
  assert.match((await ask("feedback-board", "/?page=2")).body, /Page 2 of 2/);
  for (const page of ["0", "-1", "1e9", "x"])
    assert.equal((await ask("feedback-board", `/?page=${page}`)).status, 200);
  const managed = await run(
    assistant,
    computer,
    "cd /work/feedback-board && node manage.mjs delete 1 77 && node manage.mjs list | wc -l",
  );
  assert.equal(managed.stdout, "1 deleted\n77 is not on the board\n31\n");
});

const endsWell = async (name: Name): Promise<string> => `
import http.client, os, signal, socket, subprocess, time

def until_closed():
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try: socket.create_connection(("127.0.0.1", 4999)).close()
        except ConnectionRefusedError: return
        # It was taken, and dropped by the end of it.
        except ConnectionResetError: pass
        time.sleep(0.01)
    raise AssertionError("it still takes connections")

argv = ${JSON.stringify((await readTemplate(name)).definition.services[0]?.argv)}
server = subprocess.Popen(argv, cwd="/work/${name}", env={**os.environ, "PORT": "4999"}, stdout=subprocess.PIPE)
assert b"4999" in server.stdout.readline()
idle = http.client.HTTPConnection("127.0.0.1", 4999)
${
  {
    "static-site": "busy = None",
    "web-app": 'busy = ("GET /live", "", "")',
    api: `busy = ("POST /api/notes", '{"title": ', '"late"}')`,
    "webhook-inbox": 'busy = ("POST /hooks/late", "first ", "second")',
    "feedback-board": 'busy = ("POST /feedback", "kind=idea&", "text=late")',
    "metrics-digest": 'busy = ("POST /digests", "now", "=1")',
    "scheduled-report": 'busy = ("POST /reports", "now", "=1")',
  }[name]
}
if busy:
    head, first, rest = busy
    length = len(first + rest)
    s = socket.create_connection(("127.0.0.1", 4999))
    s.sendall(f"{head} HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: {length}\\r\\n\\r\\n{first}".encode())
idle.request("GET", "/healthz"); assert idle.getresponse().read() == b"ok\\n"
since = time.monotonic()
server.send_signal(signal.SIGTERM)
until_closed()
if busy:
    s.sendall(rest.encode())
    reply = b""
    while piece := s.recv(65536): reply += piece
    assert reply.split(b" ")[1] in (b"200", b"201", b"202", b"303"), reply
assert server.wait(5) == 0
assert time.monotonic() - since < 3
`;

for (const name of names)
  test(`${name}: on SIGTERM what is under way is answered, idle connections do not hold it up, and it ends with 0`, async () => {
    await python(assistant, computer, await endsWell(name));
  });
