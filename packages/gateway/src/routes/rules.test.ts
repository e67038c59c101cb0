import assert from "node:assert/strict";
import { test } from "node:test";
import { opensEverything, type PublicRule, wholeProject } from "@holdfast/contract";
import { matchRule } from "./rules.ts";

const rules: readonly PublicRule[] = [
  { methods: ["POST"], path: "/hooks/*" },
  { methods: null, path: "/status" },
  { methods: ["GET"], path: "/docs/*" },
];

test("what is published is exactly what the rules say, however a path is spelled", () => {
  const open = [
    "POST /hooks/",
    "POST /hooks/a/b",
    "GET /status",
    "DELETE /status",
    "GET /docs/x",
    "HEAD /docs/x",
    "GET /docs/100%25",
  ];
  const shut = [
    "GET /hooks/a",
    "POST /hooks",
    "POST /Hooks/a",
    "POST /%68ooks/a",
    "POST /hooks%2fa",
    "POST /hooks/..%2fadmin",
    "POST /hooks/%2e%2e/admin",
    "POST /hooks/%252e%252e/admin",
    "POST /hooks/..;/admin",
    "POST /hooks//admin",
    "POST //hooks/a",
    "POST /hooks/a;b=c",
    "POST /hooks/%c0%ae%c0%ae/admin",
    "GET /status/",
    "GET /statuses",
    "POST /docs/x",
    "OPTIONS /docs/x",
    "GET /",
  ];
  const matches = (request: string): boolean => {
    const [method = "", path = ""] = request.split(" ");
    return matchRule(rules, method, path) !== undefined;
  };
  for (const request of open) assert.ok(matches(request), request);
  for (const request of shut) assert.ok(!matches(request), request);
});

test("private is private, and only a rule about everything opens what is not plain", () => {
  assert.equal(matchRule(null, "GET", "/"), undefined);
  assert.equal(matchRule([], "GET", "/"), undefined);
  assert.equal(matchRule([wholeProject], "GET", "/a%2fb//c"), wholeProject);
  assert.ok(opensEverything(wholeProject));
  assert.ok(!opensEverything({ methods: ["GET"], path: "/*" }));
  assert.ok(!opensEverything({ methods: null, path: "/a*" }));
});
