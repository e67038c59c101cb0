import assert from "node:assert/strict";
import { test } from "node:test";
import { useBrowser } from "../support/browser.ts";
import { inPage, pageOf, statusAt } from "../support/site/page.ts";
import { openSite } from "../support/site/site.ts";
import { useComputer } from "../support/use.ts";

const used = await useComputer();
const { instance, assistant } = used;
const { visitor } = await useBrowser("attacks");
const mine = await openSite(used, "mine");
const evil = await openSite(used, "evil");
await evil.publish();
const anyToken = /hf[a-z]?_[A-Za-z0-9_-]{43}/;

test("93: a project's page has no way to the API, with whatever it holds", async () => {
  const { page, context } = await visitor();
  await page.goto(pageOf(evil));
  const apis = [
    instance.url,
    `http://localhost:${instance.port}`,
    `http://${evil.slug}.localhost:${instance.port}`,
  ];
  const before = (await assistant.client.computers.list()).computers.length;
  for (const api of apis) {
    const got = await inPage<readonly string[]>(
      page,
      `
      const json = { "content-type": "application/json" };
      const key = { authorization: "Bearer " + given.key };
      const body = JSON.stringify({ name: "taken" });
      const tries = [
        ["/v1/principal", { credentials: "include" }],
        ["/v1/principal", { headers: key }],
        ["/v1/computers", { method: "POST", headers: { ...key, ...json }, body }],
        ["/v1/computers", { method: "POST", credentials: "include", body }],
        ["/mcp", { method: "POST", headers: { ...key, ...json }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }],
        ["/sign-in", {}],
        ["/healthz", {}],
      ];
      const out = [];
      for (const [path, options] of tries)
        out.push(await fetch(given.api + path, options).then(async (r) => path + " " + r.status + " " + (await r.text()).slice(0, 99), () => "refused"));
      for (const [path, options] of tries)
        out.push(await fetch(given.api + path, { ...options, mode: "no-cors" }).then((r) => r.type === "opaque" ? "refused" : path + " " + r.type, () => "refused"));
      out.push(await new Promise((done) => {
        const socket = new WebSocket(given.api.replace("http", "ws") + "/v1/events");
        socket.onopen = () => done("a socket");
        socket.onclose = () => done("refused");
      }));
      return out;`,
      { api, key: assistant.secret },
    );
    assert.deepEqual([...new Set(got)], ["refused"], api);
    // In a frame nothing of it shows, so nothing of it can be clicked.
    const framed = await inPage<number>(
      page,
      `const frame = document.createElement("iframe");
       await new Promise((done) => { frame.onload = done; frame.src = given; document.body.append(frame); });
       return frame.contentWindow.length;`,
      `${api}/sign-in`,
    );
    assert.equal(framed, 0);
  }
  for (const frame of page.frames().slice(1))
    assert.doesNotMatch(
      await frame.content().catch(() => ""),
      /projects open/,
      "the sign-in page can be framed",
    );
  assert.equal((await assistant.client.computers.list()).computers.length, before);
  assert.deepEqual(
    (await context.cookies(apis)).map(({ name }) => name),
    [],
  );
  // An API that answered to projects' names could be read by their pages.
  const asOwn = await statusAt(page, `${apis[2]}/v1/principal`);
  assert.ok(asOwn >= 400 && asOwn !== 401, `${asOwn}: the API answers to a project's name`);
});

test("94: a ticket from another site signs in; neither it nor the cookie is to be had by page or app", async () => {
  const { page, context } = await visitor();
  const ticket = await mine.ticket();
  await page.goto(pageOf(evil));
  await inPage(
    page,
    `document.body.append(Object.assign(document.createElement("a"), { href: given, textContent: "open" }));`,
    ticket,
  );
  await page.getByRole("link").click();
  await page.waitForURL(`${mine.origin}/`);
  const [cookie, ...more] = await context.cookies();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [cookie?.name, cookie?.domain, cookie?.path, cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
    ["__Host-holdfast", mine.host.split(":")[0], "/", true, true, "Lax"],
  );
  const leaks = await inPage<string>(
    page,
    `await fetch("/own", { headers: { "x-own": "1" } });
     return JSON.stringify([document.referrer, document.cookie, document.URL, performance.getEntries().map((e) => e.toJSON()),
       globalThis.navigation?.entries().map(({ url }) => url)]);`,
  );
  assert.doesNotMatch(leaks, /hft_|hfv_|\.holdfast/);
  // The cookie goes to this origin: not to another port's name of the same project, and to no other project.
  const [name = ""] = mine.host.split(".");
  assert.equal(await statusAt(page, `${mine.origin.replace(name, `8080--${name}`)}/`), 404);
  await page.goto(`${evil.origin}/look`);
  const seen = JSON.stringify([await mine.seen(), await evil.seen()]);
  assert.doesNotMatch(seen, anyToken);
  assert.match(seen, /x-own/i);
  // Spent: it opens nothing anywhere, and where it was spent stays signed in.
  const { page: other } = await visitor();
  assert.equal(await statusAt(other, ticket), 401);
  // From the page that says so nothing leads on with the ticket in it.
  await other.getByRole("link", { name: "How to sign in" }).click();
  await other.waitForURL(`**/sign-in?*`);
  assert.equal(await other.evaluate("document.referrer"), "");
  assert.doesNotMatch(other.url(), /hft_/);
  assert.equal(await statusAt(page, `${mine.origin}/still`), 200);
});

test("94: what another page embeds neither spends a ticket nor signs in; who opens it afterwards is signed in", async () => {
  const { page, context } = await visitor();
  const ticket = await mine.ticket();
  await page.goto(pageOf(evil));
  await inPage(
    page,
    `const loaded = (tag, name) => new Promise((done) => {
       const element = document.createElement(tag);
       element.onload = element.onerror = done;
       element[name] = given;
       document.body.append(element);
     });
     for (const tag of ["img", "script", "iframe", "embed"]) await loaded(tag, "src");
     await loaded("object", "data");
     await fetch(given, { mode: "no-cors", credentials: "include" }).catch(() => {});`,
    ticket,
  );
  assert.deepEqual(await context.cookies(mine.origin), []);
  await page.goto(ticket);
  assert.equal(page.url(), `${mine.origin}/`);
});

test("95: what an app sets for the whole domain stays with its origin, and clears nothing of others", async () => {
  const { page, context } = await visitor();
  await page.goto(await mine.ticket());
  await inPage(
    page,
    `document.cookie = "own=1"; localStorage.setItem("kept", "1"); await caches.open("kept");`,
  );
  const domain = instance.projects.domain;
  await page.goto(
    pageOf(evil, [
      ["Set-Cookie", `planted=1; Domain=${domain}`],
      ["Set-Cookie", `wide=1; Domain=.${domain}; Path=/`],
      ["Set-Cookie", `theirs=1; Domain=${mine.host.split(":")[0] ?? ""}`],
      ["Set-Cookie", "__Host-holdfast=forged; Path=/; Secure"],
      ["Set-Cookie", "__host-holdfast=forged; Path=/; Secure"],
      ["Set-Cookie", "=__Host-holdfast=forged; Path=/; Secure"],
      ["Clear-Site-Data", '"*"'],
      ["Clear-Site-Data", '"cookies", "storage", "executionContexts"'],
    ]),
  );
  await inPage(
    page,
    `for (const cookie of ["script=1; Domain=" + given, "script2=1; Domain=." + given + "; Path=/"]) document.cookie = cookie;
     for (const d of [given, ""]) await globalThis.cookieStore?.set({ name: "store", value: "1", ...(d ? { domain: d } : {}) }).catch(() => {});`,
    domain,
  );
  const elsewhere = (await context.cookies()).filter(({ domain: of }) => of !== evil.host.split(":")[0]);
  assert.deepEqual(elsewhere.map(({ name, domain: of }) => `${of} ${name}`).toSorted(), [
    `${mine.host.split(":")[0]} __Host-holdfast`,
    `${mine.host.split(":")[0]} own`,
  ]);
  assert.deepEqual(
    (await context.cookies(evil.origin)).filter(({ name }) => name.toLowerCase().includes("holdfast")),
    [],
  );
  // The API gets none of it either.
  assert.deepEqual(await context.cookies([instance.url, `http://localhost:${instance.port}`]), []);
  assert.equal(await statusAt(page, `${mine.origin}/after`), 200);
  assert.deepEqual(
    await inPage(page, `return [localStorage.getItem("kept"), await caches.has("kept"), document.cookie];`),
    ["1", true, "own=1"],
  );
  const after = (await mine.seen()).find(({ url }) => url === "/after");
  assert.equal(after?.headers[after.headers.indexOf("Cookie") + 1], "own=1");
});

test("96: with the owner's cookie there, another project's page reads, changes and opens nothing", async () => {
  const { page } = await visitor();
  await page.goto(await mine.ticket());
  assert.equal(await inPage(page, `return (await fetch("/own-post", { method: "POST" })).status;`), 200);
  assert.equal(await inPage(page, webSocketTo(`${mine.origin.replace("http", "ws")}/ws`)), "open");
  const before = (await mine.seen()).length;
  const from = async (url: string): Promise<void> => {
    await page.goto(url);
    const framed = await inPage<string>(
      page,
      `
      const quiet = (promise) => promise.then((r) => r.text?.(), () => "");
      const read = [];
      for (const options of [{}, { mode: "no-cors" }, { method: "POST", body: "x" }, { mode: "no-cors", method: "POST", body: "x" }, { mode: "no-cors", keepalive: true, method: "POST", body: "x" }])
        read.push(await quiet(fetch(given + "/fetched", { credentials: "include", ...options })));
      navigator.sendBeacon(given + "/beacon", "x");
      const loaded = (tag, attributes) => new Promise((done) => {
        const element = Object.assign(document.createElement(tag), attributes);
        element.onload = element.onerror = done;
        document.body.append(element);
      });
      for (const [tag, name] of [["img", "src"], ["script", "src"], ["iframe", "src"], ["embed", "src"], ["object", "data"]])
        await loaded(tag, { [name]: given + "/" + tag });
      await loaded("link", { rel: "stylesheet", href: given + "/style" });
      await new Promise((done) => {
        const events = new EventSource(given + "/sse", { withCredentials: true });
        events.onerror = () => { events.close(); done(); };
        events.onopen = () => { read.push("events"); events.close(); done(); };
      });
      const frame = Object.assign(document.createElement("iframe"), { name: "target" });
      document.body.append(frame);
      const form = Object.assign(document.createElement("form"), { method: "POST", action: given + "/framed-form", target: "target" });
      document.body.append(form);
      await new Promise((done) => { frame.onload = done; form.submit(); });
      return read.join("");`,
      mine.origin,
    );
    assert.equal(framed, "");
    assert.equal(await inPage(page, webSocketTo(`${mine.origin.replace("http", "ws")}/ws`)), "refused");
    // A form that takes the whole window: as a person's own press, it changes nothing all the same.
    await Promise.all([
      page.waitForURL(`${mine.origin}/form`),
      inPage(
        page,
        `const form = Object.assign(document.createElement("form"), { method: "POST", action: given });
         document.body.append(form);
         form.submit();`,
        `${mine.origin}/form`,
      ),
    ]);
  };
  await from(pageOf(evil));
  await from("data:text/html,<!doctype html><p>elsewhere");
  assert.deepEqual(
    (await mine.seen()).slice(before).map(({ method, url }) => `${method} ${url}`),
    [],
  );
});

const webSocketTo = (url: string): string => `return new Promise((done) => {
  const socket = new WebSocket(${JSON.stringify(url)});
  socket.onopen = () => done("open");
  socket.onclose = () => done("refused");
});`;

test("a share's link opens a private project in a browser that knows nothing, until it is revoked; its open socket ends then", async (context) => {
  const { id, url } = await mine.share();
  const opened = await visitor();
  await opened.page.goto(url);
  assert.equal(opened.page.url(), `${mine.origin}/`);
  await inPage(
    opened.page,
    `const socket = new WebSocket("ws://" + location.host + "/ws");
     await new Promise((done) => (socket.onopen = done));
     socket.onclose = () => (globalThis.socketClosed = true);`,
  );
  await (await instance.owner()).shares.revoke({ project: mine.slug, share: id });
  const since = performance.now();
  await opened.page.waitForFunction("globalThis.socketClosed", undefined, { timeout: 5000 });
  context.diagnostic(
    `the page's socket closed ${Math.round(performance.now() - since)} ms after the revocation's reply`,
  );
  assert.equal(await statusAt(opened.page, `${mine.origin}/`), 401);
  const late = await visitor();
  assert.equal(await statusAt(late.page, url), 401);
  assert.deepEqual(await late.context.cookies(), []);
});
