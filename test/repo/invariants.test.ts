import assert from "node:assert/strict";
import { test } from "node:test";
import { read, tracked } from "./sources.ts";

const programs = ["control", "supervisor", "launcher"];
const sources = tracked(".ts").filter(
  (file) => programs.some((name) => file.startsWith(`packages/${name}/src/`)) && !file.endsWith(".test.ts"),
);

/** Lines of code that match, comments aside. */
const linesWith = (files: readonly string[], pattern: RegExp): string[] =>
  files.flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) =>
        pattern.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
      ),
  );

test("no wall clock, random or timer outside lib/ and kit", () => {
  const files = sources.filter((file) => !file.includes("/lib/"));
  assert.deepEqual(
    linesWith(files, /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|(?<![.\w])set(Timeout|Interval)\(/),
    [],
  );
});

test("no SQL outside a store/", () => {
  const files = sources.filter((file) => file.startsWith("packages/control/") && !file.includes("/store/"));
  assert.deepEqual(linesWith(files, /\b(selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql`/), []);
});

test("no HTTP status or JSON-RPC outside doors/", () => {
  const files = sources.filter((file) => file.startsWith("packages/control/") && !file.includes("/doors/"));
  assert.deepEqual(linesWith(files, /\bstatus: [1-5]\d\d\b|\bjsonrpc\b|-320\d\d\b/), []);
});

test("files stay readable at one sitting", () => {
  // A file over the limit stands here with its reason.
  const allowed: readonly string[] = [];
  const long = tracked(".ts", ".rs", ".mjs")
    .map((file) => [file, read(file).split("\n").length] as const)
    .filter(([file, lines]) => lines > 400 && !allowed.includes(file));
  assert.deepEqual(long, []);
});
