import assert from "node:assert/strict";
import { test } from "node:test";
import { usePostgres } from "../../support/postgres.ts";
import { startControl } from "../../support/control.ts";

const postgres = usePostgres();

test("the page that says how to sign in repeats only what has the form of a project's host", async (context) => {
  const control = await startControl(context, postgres);
  const page = async (query: string) => {
    const reply = await fetch(`${control.url}/sign-in${query}`);
    assert.equal(reply.status, 200);
    assert.match(
      reply.headers.get("content-security-policy") ?? "",
      /default-src 'none'.*form-action 'none'/,
    );
    assert.equal(reply.headers.get("referrer-policy"), "no-referrer");
    return reply.text();
  };
  const plain = await page("");
  assert.match(plain, /holdfast projects open &lt;slug&gt;</);
  const named = await page("?to=shop.localhost:7301");
  assert.match(named, /<strong>shop\.localhost:7301<\/strong>/);
  assert.match(named, /<code>holdfast projects open shop<\/code>/);
  assert.match(
    await page("?to=8080--Shop.localhost:7301"),
    /<code>holdfast projects open shop --port 8080<\/code>/,
  );
  // Through a forwarded port, and as the gateway's link has it.
  for (const to of ["shop.localhost", "SHOP.localhost:9000"])
    assert.match(await page(`?to=${to}`), /<code>holdfast projects open shop<\/code>/, to);
  assert.match(plain, /Projects are at <strong>&lt;slug&gt;\.localhost:7301<\/strong>/);
  for (const to of [
    "127.0.0.1:7301",
    "shop.localhost:port",
    "shop.localhost:7301.evil.example",
    "localhost:7301",
    ".localhost:7301",
    "a.b.localhost:7301",
    "99999999--shop.localhost:7301",
    `${"a".repeat(41)}.localhost:7301`,
    "<script>.localhost:7301",
    '"><img src=x>.localhost:7301',
    "shop; rm -rf /.localhost:7301",
    "shop.localhost:7301\n",
  ])
    assert.equal(await page(`?to=${encodeURIComponent(to)}`), plain, to);
  assert.doesNotMatch(plain, /<script/);
});
