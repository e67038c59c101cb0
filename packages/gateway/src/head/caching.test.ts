import assert from "node:assert/strict";
import { test } from "node:test";
import { readAnswerHead } from "./answer.ts";
import { privateCaching } from "./caching.ts";

test("what is let in by a right is kept by the visitor's own cache alone, whatever the app says", () => {
  const said: Readonly<Record<string, string>> = {
    "public, max-age=600": "private, max-age=600",
    "Public,s-maxage=9, max-age=600, proxy-revalidate": "private, max-age=600",
    'private="x", max-age=1': "private, max-age=1",
    "no-store": "no-store",
    "public, no-store": "no-store",
    "no-cache": "private, no-cache",
    "publicity=1": "private, publicity=1",
  };
  for (const [app, visitor] of Object.entries(said)) assert.equal(privateCaching(app), visitor);
  assert.equal(privateCaching(undefined), "private");
});

test("an answer's caching is changed for a right, and left alone for everyone", () => {
  const text =
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: public\r\nCache-Control: max-age=5\r\nCDN-Cache-Control: public\r\nExpires: never";
  const lines = (byRight: boolean): string => {
    const head = readAnswerHead(text, { method: "GET", webSocket: false }, byRight);
    return typeof head === "string" ? head : head.lines;
  };
  assert.equal(lines(true), "Cache-Control: private, max-age=5\r\nExpires: never\r\n");
  assert.equal(
    lines(false),
    "Cache-Control: public\r\nCache-Control: max-age=5\r\nCDN-Cache-Control: public\r\nExpires: never\r\n",
  );
});
