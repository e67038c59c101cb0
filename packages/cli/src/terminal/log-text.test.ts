import assert from "node:assert/strict";
import { test } from "node:test";
import { LogText, shownText } from "./log-text.ts";

const log = "\x1b[1;32mready\x1b[0m\r\n10%\r20%\r\n\x1b[2Jgone\x9b\x07 \x1b]0;title\x07 grüß\x1b[3";
const shown = "ready\n10%\n20%\n\\x1b[2Jgone\\x9b\\x07 \\x1b]0;title\\x07 grüß\\x1b[3";

test("a log loses its colours and commands nothing, wherever it is cut", () => {
  for (let size = 1; size <= log.length; size += 1) {
    const text = new LogText();
    let seen = "";
    for (let at = 0; at < log.length; at += size) seen += text.next(log.slice(at, at + size));
    assert.equal(seen + text.end(), shown, `pieces of ${size}`);
  }
});

test("a sequence that never ends is not kept", () => {
  const text = new LogText();
  assert.equal(text.next(`\x1b[${"1;".repeat(40)}`), `\\x1b[${"1;".repeat(40)}`);
});

test("a file's or an output's text moves no cursor and forges no line of ours", () => {
  assert.equal(
    shownText("a\u001b]0;title\u0007b\u001b[2J\r\nc\u009b1A\n"),
    "a\\x1b]0;title\\x07b\\x1b[2J\nc\\x9b1A\n",
  );
  assert.equal(shownText("\u001b[31mred\u001b[0m\u001b["), "red\\x1b[");
});

test("a log of nothing but carriage returns is shown at once", () => {
  const began = performance.now();
  assert.equal(shownText("\r".repeat(500_000)).length, 500_000);
  assert.equal(shownText(`${"\r".repeat(500_000)}\nx`), "\nx");
  // It took minutes.
  assert.ok(performance.now() - began < 3000, `${performance.now() - began} ms`);
});
