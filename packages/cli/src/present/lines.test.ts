import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, hanging, widthOf } from "./lines.ts";
import { table } from "./table.ts";

test("lines break between words, below the first word, and only where somebody looks", () => {
  const text = "one two three four five six seven";
  assert.equal(hanging("head: ", text, undefined), `head: ${text}`);
  assert.equal(hanging("head: ", text, 26), "head: one two three four\n      five six seven");
  assert.equal(hanging("  ", "a   b", 80), "  a   b");
  const path = "/a/path/that/is/longer/than/the/line";
  assert.equal(hanging("", `see ${path} now`, 20), `see\n${path}\nnow`);
});

test("what is cut fits, wide characters counted as two", () => {
  assert.equal(cut("abcdef", 4), "abc…");
  assert.equal(widthOf(cut("日本語日本語", 6)), 5);
});

test("a table leaves out what may be left out before it cuts, and on a pipe neither", () => {
  const columns = [
    { head: "NAME", cell: (row: { a: string }) => row.a },
    { head: "MORE", cell: () => "x".repeat(20), spare: true },
    { head: "LAST", cell: () => "y".repeat(20) },
  ];
  const rows = [{ a: "one" }];
  assert.equal(table(rows, columns, 0, 30), `NAME  LAST\none   ${"y".repeat(20)}\n`);
  assert.match(table(rows, columns, 0, undefined), /MORE/);
  assert.equal(table(rows, columns, 0, 12), "NAME  LAST\none   yyyyy…\n");
});
