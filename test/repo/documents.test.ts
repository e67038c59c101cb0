import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { read, root, tracked } from "./sources.ts";

/** The path of a file and what is in it. Every check must report a seeded one before it judges the real ones. */
type Text = readonly [file: string, text: string];

const texts = (...endings: readonly string[]): readonly Text[] =>
  tracked(...endings).map((file) => [file, read(file)]);

const brokenLinks = ([file, text]: Text): readonly string[] =>
  [...text.matchAll(/\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
    .map(([, target]) => target ?? "")
    .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(file), target)))
    .map((target) => `${file} → ${target}`);

test("links of documents lead somewhere", () => {
  const seeded = "[here](README.md) [nowhere](NOWHERE.md#part) [outside](https://example.com/)";
  assert.deepEqual(brokenLinks(["canary.md", seeded]), ["canary.md → NOWHERE.md"]);
  assert.deepEqual(texts(".md").flatMap(brokenLinks), []);
});

// Built from parts, so that this file does not hold what it looks for.
const foreignWords = [
  ["/work", "/main"],
  ["/work", "/shared"],
  ["registry", ".npmjs", ".org"],
  ["static.", "crates", ".io"],
  ["deb.debian", ".org"],
  ["shared/", "DESIGN.md"],
  ["shared/", "TRAPS.md"],
].map((parts) => parts.join(""));

const foreign = ([file, text]: Text): readonly string[] =>
  foreignWords.filter((word) => text.includes(word)).map((word) => `${file} holds ${word}`);

test("the project speaks of itself alone", () => {
  for (const word of foreignWords)
    assert.deepEqual(foreign(["canary.ts", `// see ${word}`]), [`canary.ts holds ${word}`]);
  const endings = [".ts", ".mjs", ".js", ".rs", ".md", ".json", ".toml", ".sql", ".sh", ".css", ".html"];
  assert.deepEqual(texts(...endings).flatMap(foreign), []);
});

const marks = ["TO" + "DO", "FIX" + "ME", "X" + "XX"];

const halfSaid = ([file, text]: Text): readonly string[] =>
  text
    .split("\n")
    .flatMap((line, index) =>
      marks.some((mark) => new RegExp(`\\b${mark}\\b`).test(line)) ? [`${file}:${index + 1}`] : [],
    );

test("nothing is left half said", () => {
  for (const mark of marks)
    assert.deepEqual(halfSaid(["canary.ts", `one\n// ${mark}: two`]), ["canary.ts:2"]);
  assert.deepEqual(texts(".ts", ".mjs", ".rs", ".sql").flatMap(halfSaid), []);
});
