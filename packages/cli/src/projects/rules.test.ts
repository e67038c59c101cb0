import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../errors.ts";
import { ruleText } from "../present/projects.ts";
import { parseRule } from "./rules.ts";

test("a rule is methods and a path, and reads as it was written", () => {
  assert.deepEqual(parseRule("post /hooks/*"), { methods: ["POST"], path: "/hooks/*" });
  assert.deepEqual(parseRule("GET,HEAD  /a"), { methods: ["GET", "HEAD"], path: "/a" });
  assert.deepEqual(parseRule("/*"), { methods: null, path: "/*" });
  for (const text of ["POST /hooks/*", "GET,HEAD /a", "/*"]) assert.equal(ruleText(parseRule(text)), text);
  for (const text of ["", "POST", "hooks", "POST hooks", "GET, /a", "/a b", "GET /a /b"])
    assert.throws(() => parseRule(text), CliError, text);
});
