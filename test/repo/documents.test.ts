import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { read, root, tracked } from "./sources.ts";

test("links of documents lead somewhere", () => {
  const broken = tracked(".md").flatMap((file) =>
    [...read(file).matchAll(/\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
      .map(([, target]) => target ?? "")
      .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(file), target)))
      .map((target) => `${file} → ${target}`),
  );
  assert.deepEqual(broken, []);
});

test("the project speaks of itself alone", () => {
  // Built from parts, so that this file does not hold what it looks for.
  const words = [
    ["/work", "/main"],
    ["/work", "/shared"],
    ["registry", ".npmjs", ".org"],
    ["static.", "crates", ".io"],
    ["deb.debian", ".org"],
    ["shared/", "DESIGN.md"],
    ["shared/", "TRAPS.md"],
  ].map((parts) => parts.join(""));
  const found = tracked(
    ".ts",
    ".mjs",
    ".js",
    ".rs",
    ".md",
    ".json",
    ".toml",
    ".sql",
    ".sh",
    ".css",
    ".html",
  ).flatMap((file) => {
    const text = read(file);
    return words.filter((word) => text.includes(word)).map((word) => `${file} holds ${word}`);
  });
  assert.deepEqual(found, []);
});

test("nothing is left half said", () => {
  const marks = ["TO" + "DO", "FIX" + "ME", "X" + "XX"];
  const found = tracked(".ts", ".mjs", ".rs", ".sql").flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) =>
        marks.some((mark) => new RegExp(`\\b${mark}\\b`).test(line)) ? [`${file}:${index + 1}`] : [],
      ),
  );
  assert.deepEqual(found, []);
});
