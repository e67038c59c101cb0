import assert from "node:assert/strict";
import { test } from "node:test";
import { diffForTerminal } from "./diff.ts";

const diff = [
  "diff --git a/x b/x",
  "--- a/x",
  "+++ b/x",
  "@@ -1,2 +1,2 @@ \x1b]0;title\x07",
  "--- a list item",
  "+\x1b[2J\x9bmnew\r",
  " same",
  "diff --git a/y b/y",
  "+++ b/y",
  "",
].join("\n");

test("a diff is coloured by place, and nothing in it reaches the terminal as a command", () => {
  assert.equal(
    diffForTerminal(diff, true),
    [
      "\x1b[1mdiff --git a/x b/x\x1b[0m",
      "\x1b[1m--- a/x\x1b[0m",
      "\x1b[1m+++ b/x\x1b[0m",
      "\x1b[36m@@ -1,2 +1,2 @@ \\x1b]0;title\\x07\x1b[0m",
      "\x1b[31m--- a list item\x1b[0m",
      "\x1b[32m+\\x1b[2J\\x9bmnew\x1b[0m",
      " same",
      "\x1b[1mdiff --git a/y b/y\x1b[0m",
      "\x1b[1m+++ b/y\x1b[0m",
      "",
    ].join("\n"),
  );
  assert.doesNotMatch(diffForTerminal(diff, false), /[^\P{Cc}\n]/u);
});
