import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { templateNames } from "@holdfast/contract";
import { readTemplate, templatesFolder } from "../support/templates.ts";

test("every template is named in the contract, and the other way round", () => {
  const folders = readdirSync(templatesFolder, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  assert.deepEqual(folders.map(({ name }) => name).toSorted(), [...templateNames].toSorted());
  for (const name of templateNames) {
    const { title, summary, definition, files } = readTemplate(name);
    assert.ok(title.length > 0 && summary.length > 0, name);
    assert.ok(files.has("README.md") && files.has(".gitignore"), name);
    assert.equal(definition.web, name === "blank" ? null : "web");
    assert.deepEqual(
      definition.services.map((service) => service.name),
      name === "blank" ? [] : ["web"],
    );
  }
});

test("the README of a template names what there is", () => {
  for (const name of templateNames) {
    const { files } = readTemplate(name);
    const table = files.get("README.md")?.toString().split("## What is ")[1]?.split("\n## ")[0] ?? "";
    const named = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(
      ([, cell]) => cell?.match(/[^`, ]+/g) ?? [],
    );
    assert.ok(named.length >= 2, `${name}: ${table}`);
    const folder = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);
    const known = [...files.keys()].flatMap((path) => [path, folder(path), path.slice(folder(path).length)]);
    assert.deepEqual(
      named.filter((path) => path !== "data/" && !known.includes(path)),
      [],
      name,
    );
    const covered = (path: string): boolean =>
      named.some((one) => path === one || (one.endsWith("/") && path.startsWith(one)));
    const untold = [".gitignore", "README.md", "api/__init__.py"];
    assert.deepEqual(
      [...files.keys()].filter((path) => !untold.includes(path) && !covered(path)),
      [],
      name,
    );
  }
});

test("what templates have in common is the same file in each", () => {
  const shared = ["lib/serve.mjs", "lib/files.mjs", "lib/http.mjs", "lib/html.mjs"];
  for (const path of [...shared, "public/base.css", "public/tide.svg"]) {
    const copies = templateNames
      .map((name) => readTemplate(name).files.get(path)?.toString())
      .filter(Boolean);
    assert.ok(copies.length >= 3, `${path} is in ${copies.length} templates`);
    assert.equal(new Set(copies).size, 1, `the copies of ${path} differ`);
  }
});
