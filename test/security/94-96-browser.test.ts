import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { useBrowser } from "../support/browser.ts";
import { type Bed, everything, type Project, startBed, startTestApp, until } from "../support/gateway/bed.ts";

const { visitor: newVisitor, photograph } = await useBrowser("gateway");

/**
 * Under `localhost`, which Chromium resolves and trusts as if by TLS; and under one name there, so that to a browser all projects are one
 * site, which SameSite does not keep apart. (Straight under `localhost` each is a site of its own.)
 */
const domain = "apps.localhost";
const start = async (context: TestContext): Promise<Bed> => startBed(context, { domain });

/** A session in the visitor's browser by a ticket, as an owner gets one. */
const ticketOf = (bed: Bed, project: Project): string => {
  const { project_id } = project.route;
  bed.control.trades.set(`${project_id} ticket t1`, {
    token: "session-secret",
    expires_at_ms: Date.now() + 3_600_000,
  });
  project.allow("cookie", "session-secret");
  return `http://${project.host}:${bed.port}/.holdfast/ticket?t=t1`;
};

/** What a page can do to another origin without being asked: read, embed, post, open a socket. Runs inside a page. */
const everyWayTo = (origin: string): string => `(async (url) => {
  const quiet = (promise) => promise.catch(() => undefined);
  await quiet(fetch(url + "/read", { credentials: "include" }));
  await quiet(fetch(url + "/opaque", { credentials: "include", mode: "no-cors" }));
  await quiet(fetch(url + "/post", { credentials: "include", mode: "no-cors", method: "POST", body: "x" }));
  const loaded = (tag, path) => new Promise((resolve) => {
    const element = document.createElement(tag);
    element.onload = element.onerror = resolve;
    element.src = url + path;
    document.body.append(element);
  });
  await loaded("script", "/script");
  await loaded("img", "/image");
  await loaded("iframe", "/frame");
  await new Promise((resolve) => { new WebSocket(url.replace("http", "ws") + "/socket").onclose = resolve; });
})(${JSON.stringify(origin)})`;

/** Makes an element and presses it. Runs inside a page. */
const pressed = (
  tag: string,
  attributes: Readonly<Record<string, string>>,
  how: "submit" | "click",
): string =>
  `(() => {
    const element = Object.assign(document.createElement(${JSON.stringify(tag)}), ${JSON.stringify(attributes)});
    document.body.append(element);
    element.${how}();
  })()`;

test("94: a ticket signs a browser in to one project's origin; neither ticket nor cookie are to be had by the app or its page", async (context) => {
  const bed = await start(context);
  const app = await startTestApp(context);
  const mine = await bed.project("mine", app.port);
  const other = await bed.project("other", app.port);
  const { page, context: browser } = await newVisitor();
  await page.goto(`http://${mine.host}:${bed.port}/`);
  assert.match(await page.content(), /There is nothing here for you/);
  await page.goto(ticketOf(bed, mine));
  assert.equal(page.url(), `http://${mine.host}:${bed.port}/`);
  assert.match(await page.content(), /"url":"\/"/);
  const [cookie, ...more] = await browser.cookies();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [cookie?.name, cookie?.domain, cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
    ["__Host-holdfast", mine.host, true, true, "Lax"],
  );
  assert.equal(await page.evaluate("document.cookie"), "");
  // What the page sets for itself comes along, and stays with it.
  await page.evaluate("document.cookie = 'own=1'");
  await page.evaluate("fetch('/api', { method: 'POST', body: 'x' }).then(() => undefined)");
  await page.goto(`http://${other.host}:${bed.port}/`);
  assert.match(await page.content(), /There is nothing here for you/);
  const seen = JSON.stringify(app.seen);
  assert.doesNotMatch(seen, /secret|t1|holdfast\/ticket/);
  assert.match(seen, /own=1/);
  assert.ok(app.seen.every(({ headers }) => headers.includes(`${mine.host}:${bed.port}`)));
});

test("95: what an app sets for the whole domain reaches no other project, and clears nothing of theirs", async (context) => {
  const bed = await start(context);
  const app = await startTestApp(context);
  const evil = await startTestApp(context, (_request, response) => {
    response.setHeader("set-cookie", [
      `planted=1; Domain=${domain}`,
      `wide=1; Domain=.${domain}; Path=/`,
      "__Host-holdfast=forged; Path=/; Secure",
      "fine=1",
    ]);
    response.setHeader("clear-site-data", '"*"');
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>evil</title>");
  });
  const mine = await bed.project("mine", app.port);
  const theirs = await bed.project("evil", evil.port, everything);
  const { page, context: browser } = await newVisitor();
  await page.goto(ticketOf(bed, mine));
  await page.evaluate("localStorage.setItem('kept', '1')");
  await page.goto(`http://${theirs.host}:${bed.port}/`);
  const cookies = (await browser.cookies()).map(({ name, domain, value }) => `${domain} ${name}=${value}`);
  assert.deepEqual(cookies.toSorted(), [
    `${theirs.host} fine=1`,
    `${theirs.host} planted=1`,
    `${theirs.host} wide=1`,
    `${mine.host} __Host-holdfast=session-secret`,
  ]);
  await page.goto(`http://${mine.host}:${bed.port}/`);
  assert.match(await page.content(), /"url":"\/"/);
  assert.equal(await page.evaluate("localStorage.getItem('kept')"), "1");
  assert.doesNotMatch(JSON.stringify(app.seen), /planted|wide|forged/);
});

test("95: a project's service worker sees its own origin alone", async (context) => {
  const bed = await start(context);
  const app = await startTestApp(context);
  const worker = await startTestApp(context, (request, response) => {
    const script = request.url === "/deep/worker.js";
    response.setHeader("content-type", script ? "text/javascript" : "text/html");
    response.setHeader("service-worker-allowed", "/");
    response.end(
      script
        ? "onfetch = (event) => event.respondWith(new Response('from the worker'))"
        : "<!doctype html><title>w</title>",
    );
  });
  const evil = await bed.project("evil", worker.port, everything);
  const open = await bed.project("open", app.port, everything);
  const { page } = await newVisitor();
  await page.goto(`http://${evil.host}:${bed.port}/deep/`);
  // Not for the whole origin by a header of the app's.
  const wide = await page.evaluate(
    "navigator.serviceWorker.register('/deep/worker.js', { scope: '/' }).then(() => 'registered', ({ name }) => name)",
  );
  assert.equal(wide, "SecurityError");
  await page.evaluate(
    "navigator.serviceWorker.register('/deep/worker.js').then(() => navigator.serviceWorker.ready).then(() => undefined)",
  );
  await page.goto(`http://${evil.host}:${bed.port}/deep/page`);
  assert.match(await page.content(), /from the worker/);
  await page.goto(`http://${open.host}:${bed.port}/deep/page`);
  assert.match(await page.content(), /"url":"\/deep\/page"/);
});

test("96: pages of other projects and sites change and read nothing with a visitor's session", async (context) => {
  const bed = await start(context);
  const app = await startTestApp(context);
  const evil = await startTestApp(context, (_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>evil</title><p>evil</p>");
  });
  const mine = await bed.project("mine", app.port);
  const theirs = await bed.project("evil", evil.port, everything);
  const { page } = await newVisitor();
  const target = `http://${mine.host}:${bed.port}`;
  await page.goto(ticketOf(bed, mine));
  const own = await page.evaluate("fetch('/own', { method: 'POST' }).then(({ status }) => status)");
  assert.equal(own, 200);
  const before = app.seen.length;

  // A sibling project is the same site to a browser, and another site altogether is not.
  for (const origin of [
    `http://${theirs.host}:${bed.port}/`,
    "data:text/html,<!doctype html><p>elsewhere</p>",
  ]) {
    await page.goto(origin);
    await page.evaluate(everyWayTo(target));
    await Promise.all([
      page.waitForURL(`${target}/form`),
      page.evaluate(pressed("form", { method: "POST", action: `${target}/form` }, "submit")),
    ]);
    assert.deepEqual(
      // Chromium asks for the icon of the project's own page when it comes to it.
      app.seen
        .slice(before)
        .filter(({ url }) => url !== "/favicon.ico")
        .map(({ method, url }) => `${method} ${url}`),
      [],
      origin,
    );
  }
  // What a person follows to it is theirs.
  await page.goto(`http://${theirs.host}:${bed.port}/`);
  await Promise.all([
    page.waitForURL(`${target}/followed`),
    page.evaluate(pressed("a", { href: `${target}/followed` }, "click")),
  ]);
  assert.match(await page.content(), /"url":"\/followed"/);
});

test("a WebSocket of the project's own page works by the session, and ends with it", async (context) => {
  const bed = await start(context);
  const app = await startTestApp(context);
  const mine = await bed.project("mine", app.port);
  const { WebSocketServer } = await import("ws");
  const sockets = new WebSocketServer({ noServer: true });
  app.onUpgrade((request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("message", (data: Buffer) => client.send(`echo ${data.toString("utf8")}`));
    }),
  );
  const { page } = await newVisitor();
  await page.goto(ticketOf(bed, mine));
  const echoed = await page.evaluate(`new Promise((resolve) => {
    const socket = new WebSocket("ws://" + location.host + "/ws");
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => resolve(data);
    socket.onclose = () => { globalThis.closedAt = performance.now(); };
  })`);
  assert.equal(echoed, "echo hello");
  mine.forbid("cookie", "session-secret");
  await page.waitForFunction("globalThis.closedAt !== undefined", undefined, { timeout: 1000 });
});

test("every page of the gateway's own can be read and used, on a phone and on a desk, by day and by night", async (context) => {
  const bed = await start(context);
  const mine = await bed.project("mine", undefined);
  await mine.agent.close();
  mine.allow("cookie", "session-secret");
  const { page, context: browser, complaints } = await newVisitor();
  const at = `http://${mine.host}:${bed.port}/`;
  const show = async (name: string, status: number): Promise<void> => {
    assert.equal((await page.goto(at))?.status(), status, name);
    await photograph(page, name);
  };
  await show("nothing", 404);
  await browser.setExtraHTTPHeaders({ "Holdfast-Key": "other" });
  await show("refused", 401);
  mine.allow("header", "k");
  await browser.setExtraHTTPHeaders({ "Holdfast-Key": "k" });
  bed.control.onWake = () => ({ state: "starting", retry_after_ms: 60_000, reason: null, log: null });
  await show("starting", 503);
  const log = `Traceback (most recent call last):\n  File "/work/shop/server.py", line 12\n    serve(port\n         ^\nSyntaxError: '(' was never closed\n${"a long line ".repeat(40)}`;
  bed.control.onWake = () => ({
    state: "failed",
    retry_after_ms: 0,
    reason: "It ended with status 1, five times.",
    log,
  });
  await show("crashed", 502);
  bed.control.onWake = () => ({ state: "no_service", retry_after_ms: 0, reason: null, log: null });
  await show("no-service", 503);
  await bed.control.stop();
  await until(async () => (await page.goto(at))?.status() === 503);
  await photograph(page, "unavailable");
  // The failing statuses are told of on the console; nothing else is.
  assert.deepEqual(
    complaints.filter((text) => !text.startsWith("Failed to load resource")),
    [],
  );
});
