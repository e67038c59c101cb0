import assert from "node:assert/strict";
import { test } from "node:test";
import { App } from "./app.ts";
import { createProgram } from "./program.ts";
import { callFor, suggest } from "./suggest.ts";
import { Console } from "./terminal/console.ts";

const program = createProgram(new App(new Console(process, {}), {}, Date.now), "0");
const first = (...words: readonly string[]): string | undefined => suggest(program, words)?.instead[0];

test("an operation's own name leads to its verb", () => {
  assert.equal(first("computers", "get"), "computers show");
  assert.equal(first("events", "list"), "events follow");
  assert.equal(first("events", "stream"), "events follow");
  assert.equal(first("owners", "session.create"), undefined);
  assert.equal(first("owners", "create"), "owners login");
});

test("one instead of many, verbs of other programs, and slips lead on too", () => {
  assert.equal(first("computer", "list"), "computers list");
  assert.equal(first("computers", "ls"), "computers list");
  assert.equal(first("computers", "rm"), "computers destroy");
  assert.equal(first("computers", "lsit"), "computers list");
  assert.equal(first("comptuers", "show"), "computers show");
  assert.equal(first("contexts", "switch"), "contexts use");
  assert.equal(first("create"), "computers create");
  assert.equal(first("satus"), "status");
});

test("wrong use of a command names how it is called", () => {
  assert.equal(callFor(program, ["--json", "services", "logs", "box"]), "services logs <computer> <service>");
  assert.equal(callFor(program, ["files", "download"]), "files download <computer> <path> [local]");
  assert.equal(callFor(program, ["exec"]), "exec <computer> [command…]");
  assert.equal(callFor(program, ["nothing"]), undefined);
});

test("a noun comes with the usage of its verbs; what is a command, or resembles none, has nothing instead", () => {
  const told = suggest(program, ["events", "list"]);
  assert.match(told?.usage.join("\n") ?? "", /^ {2}events follow {2}\w/m);
  assert.equal(suggest(program, ["computers", "show", "x"]), undefined);
  assert.equal(suggest(program, ["exec", "box"]), undefined);
  assert.deepEqual(suggest(program, ["zzzzzzzz"])?.instead, []);
});
