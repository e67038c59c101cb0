import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableLine } from "./printable.ts";

test("nothing from elsewhere moves the cursor, forges a line or turns text around", () => {
  assert.equal(printable("a\x1b[2Jb\x9bc\rd\u202ee"), "a\\x1b[2Jb\\x9bc\\x0dd\\u202ee");
  assert.equal(printableLine("one\ntwo\tthree"), "one⏎two three");
  assert.equal(printable("schön 中文 🙂\n"), "schön 中文 🙂\n");
});
