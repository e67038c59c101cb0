import assert from "node:assert/strict";
import { test } from "node:test";
import { useBrowser } from "../support/browser.ts";
import { statusAt } from "../support/site/page.ts";
import { openSite } from "../support/site/site.ts";
import { until } from "../support/until.ts";
import { useComputer } from "../support/use.ts";
import { visit } from "../support/visit.ts";

const used = await useComputer();
const { visitor } = await useBrowser("share");
const site = await openSite(used, "mine");

/** The least that a share can last, and so a minute of waiting. With a clock that is moved on: test/functional/visits/rights.test.ts. */
const lastsMs = 60_000;

test("a share's link that has run out opens nothing, and what it opened has ended", async () => {
  const share = await site.share(lastsMs);
  const opened = await visitor();
  await opened.page.goto(share.url);
  assert.equal(opened.page.url(), `${site.origin}/`);
  const { pathname, search } = new URL(share.url);
  const ended = async (): Promise<boolean> =>
    (await visit(used.instance, site.slug, { path: pathname + search })).status === 401;
  await until("it runs out", ended, { withinMs: 2 * lastsMs });
  assert.equal(await statusAt((await visitor()).page, share.url), 401);
  assert.notEqual(await statusAt(opened.page, `${site.origin}/`), 200);
});
