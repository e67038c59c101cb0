import assert from "node:assert/strict";
import { test } from "node:test";
import { confineClearing, confineCookie, takeSessionCookie } from "./cookies.ts";
import { holdsPlatformToken, namesOwnPart } from "./credentials.ts";
import { readHost, readPlace } from "./host.ts";
import { isDotted, isPlain } from "./path.ts";

test("our cookie is taken out of the others, which stay byte for byte as they were", () => {
  const cases: readonly (readonly [given: string, rest: string | undefined, token: string | undefined])[] = [
    ["a=b", "a=b", undefined],
    ["", "", undefined],
    ["__Host-holdfast=t", undefined, "t"],
    ["a=b; __Host-holdfast=t; c=d", "a=b; c=d", "t"],
    ["__Host-holdfast=t; c=d", "c=d", "t"],
    ["a=b;__Host-holdfast=t", "a=b", "t"],
    ['a="x  y" ;b=ü=%20; __Host-holdfast=t;c', 'a="x  y" ;b=ü=%20;c', "t"],
    ["__Host-holdfast=one; __Host-holdfast=two", undefined, "one"],
    ["__host-HOLDFAST=other; a=b", "a=b", undefined],
    [" __Host-holdfast = t ; a=b", "a=b", "t"],
    ["x__Host-holdfast=t; y=z", "y=z", undefined],
    ["x=y; a=b, __Host-holdfast=t", "x=y", undefined],
    ["__Host-holdfast", undefined, ""],
  ];
  for (const [given, rest, token] of cases)
    assert.deepEqual(takeSessionCookie(given), { rest, token }, given);
});

test("an app's cookies stay with its own origin, and are never ours", () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    "a=b": "a=b",
    "a=b; Path=/; Secure; HttpOnly": "a=b; Path=/; Secure; HttpOnly",
    "a=b; Domain=holdfast.test": "a=b",
    "a=b; domain = .test ;Path=/": "a=b;Path=/",
    "a=b; Domain": "a=b",
    "a=b;\tDOMAIN=x; domain=y": "a=b",
    "domain=b; Path=/": "domain=b; Path=/",
    "__Host-holdfast=evil; Path=/; Secure": undefined,
    "__HOST-HOLDFAST=evil": undefined,
    " __Host-holdfast =evil": undefined,
    "=__Host-holdfast=evil": undefined,
    "__Host-other=fine; Path=/; Secure": "__Host-other=fine; Path=/; Secure",
  };
  for (const [given, expected] of Object.entries(cases)) assert.equal(confineCookie(given), expected, given);
});

test("clearing reaches the app's own origin only", () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '"cookies"': undefined,
    '"cache", "cookies"': '"cache"',
    '"*"': '"cache", "storage"',
    '"storage","executionContexts"': '"storage"',
    cache: undefined,
  };
  for (const [given, expected] of Object.entries(cases))
    assert.equal(confineClearing(given), expected, given);
});

test("credentials of ours are found where an app reads, in whatever form, and nothing else is taken for one", () => {
  const token = `hf_${"a-_Z".repeat(10)}abc`;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const ours = [
    `Bearer ${token}`,
    token,
    `Token token="${token}"`,
    `Basic ${base64(`x:${token}`)}`,
    `basic ${base64(`${token}:`)}`,
    ...["hfs_", "hfv_", "hft_", "hfl_"].map((prefix) => `Bearer ${token.replace("hf_", prefix)}`),
  ];
  for (const value of ours) assert.ok(holdsPlatformToken(value), value);
  const others = [
    "",
    "Bearer abc",
    `Bearer ${token}x`,
    `Bearer x${token}`,
    `Bearer ${token.slice(0, -1)}`,
    `Basic ${base64("name:hf_short")}`,
    "Basic !",
  ];
  for (const value of others) assert.ok(!holdsPlatformToken(value), value);
  for (const referer of [
    "http://a.b/.holdfast/ticket?t=x",
    "http://a.b/%2EHoldfast/",
    "http://a.b/.%68oldfast",
  ])
    assert.ok(namesOwnPart(referer), referer);
  for (const referer of ["http://a.b/holdfast/", "http://a.b/%", ""])
    assert.ok(!namesOwnPart(referer), referer);
});

test("a host is one name, and a project's place is one label before the domain", () => {
  const hosts: Readonly<Record<string, string | undefined>> = {
    "A.holdfast.test": "a.holdfast.test",
    "a.holdfast.test:7380": "a.holdfast.test",
    "[::1]:80": "[::1]",
    "a.holdfast.test.": undefined,
    "a@b": undefined,
    "a..b": undefined,
    "a:": undefined,
    "a:123456": undefined,
    "a/b": undefined,
    "": undefined,
  };
  for (const [given, expected] of Object.entries(hosts)) assert.equal(readHost(given), expected, given);
  const places: Readonly<Record<string, unknown>> = {
    "notes.holdfast.test": { slug: "notes", port: undefined },
    "8080--notes.holdfast.test": { slug: "notes", port: 8080 },
    "65536--notes.holdfast.test": undefined,
    "0--notes.holdfast.test": undefined,
    "08--notes.holdfast.test": undefined,
    "a.notes.holdfast.test": undefined,
    "holdfast.test": undefined,
    "notesholdfast.test": undefined,
    "notes.holdfast.test.evil.test": undefined,
    ".holdfast.test": undefined,
    "-notes.holdfast.test": undefined,
  };
  for (const [given, expected] of Object.entries(places))
    assert.deepEqual(readPlace(given, "holdfast.test"), expected, given);
});

test("a path that may be read as another is told from a plain one", () => {
  for (const path of ["/..", "/.", "/a/..", "/a/./b", "/%2e", "/a/%2E%2e/b", "/.%2e/", "/a/.%2E"])
    assert.ok(isDotted(path), path);
  for (const path of ["/", "/...", "/.well-known/x", "/a..b", "/..a", "/%2e%2e%2e"])
    assert.ok(!isDotted(path), path);
  const odd = [
    "//",
    "/a//b",
    "/a%2fb",
    "/a%2F..%2fb",
    "/a%5cb",
    "/%252e%252e/b",
    "/%25252fb",
    "/a;b",
    "/..;/b",
    "/a%3bb",
    "/%00",
    "/%c0%ae",
    "/%u002e",
    "/a\\b",
  ];
  for (const path of odd) assert.ok(!isPlain(path), path);
  for (const path of ["/", "/a", "/a/", "/a-b_c~d.e/f", "/%20%C3%BC", "/100%25", "/hooks/1", "/a=b,c@d:e"])
    assert.ok(isPlain(path), path);
});
