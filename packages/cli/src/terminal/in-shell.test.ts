import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { inShell } from "./in-shell.ts";

test("a shell takes the word for itself, whatever is in it", () => {
  for (const word of ["holdfast/main", "x;id", "$(id)", "`id`", "a'b", 'a"b', "é", "", "a|b&c>d", "-n"]) {
    const said = execFileSync("/bin/sh", ["-c", `printf %s ${inShell(word)}`]);
    assert.equal(said.toString(), word);
  }
  assert.equal(inShell("holdfast/main"), "holdfast/main");
});
