import assert from "node:assert/strict";
import { test } from "node:test";
import { useBrowser } from "../support/browser.ts";
import { inPage, pageOf, statusAt } from "../support/site/page.ts";
import { openSite } from "../support/site/site.ts";
import { useComputer } from "../support/use.ts";

const used = await useComputer();
const { instance } = used;
const { visitor } = await useBrowser("worker");
const mine = await openSite(used, "mine");
const evil = await openSite(used, "evil");
await evil.publish();
const anyToken = /hf[a-z]?_[A-Za-z0-9_-]{43}/;

/**
 * A worker for a whole origin. It tries to trade what it sees pass, keeps what came of it, and has a page of its own.
 */
const worker = `
  const log = [];
  onfetch = (event) => {
    const { pathname } = new URL(event.request.url);
    if (pathname === "/log") return event.respondWith(Response.json(log));
    if (pathname === "/cached") return event.respondWith(new Response("kept by the worker"));
    if (pathname === "/passed-on") return event.respondWith(fetch(event.request));
    if (!pathname.startsWith("/.holdfast")) { log.push(event.request.url); return; }
    event.respondWith((async () => {
      const again = await fetch(event.request.url, { credentials: "include", redirect: "manual" });
      const copied = await fetch(new Request(event.request, { mode: "same-origin", redirect: "manual" })).then((r) => r.status, () => "refused");
      const passed = await fetch(event.request);
      log.push([again.type, again.status, copied, passed.type, passed.status, [...passed.headers].length]);
      return passed;
    })());
  };
  onactivate = (event) => event.waitUntil(clients.claim());`;

test("95: a worker of a whole origin sees no other, trades nothing itself, and shows after unpublishing only what it had", async () => {
  const site = await openSite(used, "work");
  await site.publish();
  const { page, context } = await visitor();
  await page.goto(await mine.ticket());
  await page.goto(pageOf(site));
  const script = pageOf({ origin: "" }, [["content-type", "text/javascript"]], worker);
  await inPage(
    page,
    `await navigator.serviceWorker.register(given);
     await navigator.serviceWorker.ready;
     if (!navigator.serviceWorker.controller) await new Promise((done) => (navigator.serviceWorker.oncontrollerchange = done));
     await fetch("/through");`,
    script,
  );
  // Other origins, the platform's among them, from a page that it controls and by going there.
  await inPage(
    page,
    `for (const url of given) await fetch(url, { mode: "no-cors", credentials: "include" }).catch(() => {});`,
    [`${mine.origin}/from-worker`, `${instance.url}/healthz`],
  );
  assert.equal(await statusAt(page, `${mine.origin}/mine-own`), 200);
  assert.equal(
    (await mine.seen()).some(({ url }) => url === "/from-worker"),
    false,
  );

  await site.unpublish();
  // What this browser was given before it may show for as long as it likes: it is an app's copy on the visitor's own machine.
  await page.goto(`${site.origin}/cached`);
  assert.match(await page.content(), /kept by the worker/);
  assert.equal(await inPage(page, `return (await fetch("/live")).status;`), 404);
  assert.equal(await statusAt(page, `${site.origin}/live`), 404);
  const { page: fresh } = await visitor();
  assert.equal(await statusAt(fresh, `${site.origin}/cached`), 404);
  assert.equal(
    (await site.seen()).some(({ url }) => url === "/live" || url === "/cached"),
    false,
  );

  // A share's link comes past it. It is not traded for a script, and what it passes on tells it nothing.
  const { url } = await site.share();
  await page.goto(url);
  assert.equal(page.url(), `${site.origin}/`);
  assert.equal(await statusAt(page, `${site.origin}/signed-in`), 200);
  // A worker that passes everything on does not stand in the way of who follows a link from elsewhere.
  await page.goto(pageOf(evil));
  await inPage(page, `location.href = given;`, `${site.origin}/passed-on`);
  await page.waitForURL(`${site.origin}/passed-on`);
  const followed = (await site.seen()).find(({ url: seen }) => seen === "/passed-on");
  assert.ok(followed, await page.content());
  await page.goto(`${site.origin}/log`);
  const log = JSON.parse(await page.evaluate<string>("document.body.innerText")) as readonly unknown[];
  const [trade, ...trades] = log.filter((entry) => typeof entry !== "string");
  assert.deepEqual(trades, []);
  assert.deepEqual(trade, ["basic", 404, 404, "opaqueredirect", 0, 0]);
  // Of other origins it hears what its own page asked them for, and no more.
  assert.deepEqual(
    log.filter((entry) => typeof entry === "string" && !entry.startsWith(`${site.origin}/`)),
    [`${mine.origin}/from-worker`, `${instance.url}/healthz`],
  );
  assert.equal(await inPage(page, "return document.cookie;"), "");
  assert.ok((await context.cookies(site.origin)).some(({ name }) => name === "__Host-holdfast"));
  assert.doesNotMatch(JSON.stringify(await site.seen()), anyToken);
});
