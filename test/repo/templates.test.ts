import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { templateNames } from "@holdfast/contract";
import { readTemplate } from "../../packages/control/src/lib/templates.ts";
import { read, root, tracked } from "./sources.ts";

test("every template is named in the contract, and the other way round", async () => {
  const folders = readdirSync(join(root, "templates"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "common")
    .map(({ name }) => name);
  assert.deepEqual(folders.toSorted(), [...templateNames].toSorted());
  for (const name of templateNames) {
    const { title, summary, definition, files } = await readTemplate(name);
    assert.ok(title.length > 0 && summary.length > 0, name);
    for (const path of ["README.md", ".gitignore"])
      assert.ok(
        files.some((file) => file.path === path),
        name,
      );
    assert.equal(definition.web, name === "blank" ? null : "web");
    assert.deepEqual(
      definition.services.map((service) => service.name),
      name === "blank" ? [] : ["web"],
    );
  }
});

test("the README of a template names what there is", async () => {
  for (const name of templateNames) {
    const { files } = await readTemplate(name);
    const paths = files.map(({ path }) => path);
    const readme = files.find(({ path }) => path === "README.md")?.content.toString() ?? "";
    const table = readme.split("## What is ")[1]?.split("\n## ")[0] ?? "";
    const named = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(
      ([, cell]) => cell?.match(/[^`, ]+/g) ?? [],
    );
    assert.ok(named.length >= 2, `${name}: ${table}`);
    const folder = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);
    const known = paths.flatMap((path) => [path, folder(path), path.slice(folder(path).length)]);
    assert.deepEqual(
      named.filter((path) => path !== "data/" && !known.includes(path)),
      [],
      name,
    );
    const covered = (path: string): boolean =>
      named.some((one) => path === one || (one.endsWith("/") && path.startsWith(one)));
    const untold = [".gitignore", "README.md", "api/__init__.py"];
    assert.deepEqual(
      paths.filter((path) => !untold.includes(path) && !covered(path)),
      [],
      name,
    );
  }
});

// That each named one is there, once, and in nobody's way, is what reading every template shows.
test("templates have a file that is the same in several of them once, in common", () => {
  const taken = templateNames.flatMap((name) => {
    const { common = [] } = JSON.parse(read(`templates/${name}/template.json`)) as { common?: string[] };
    return common;
  });
  const files = tracked().filter((file) => file.startsWith("templates/"));
  const shared = files.filter((file) => file.startsWith("templates/common/"));
  assert.ok(shared.length > 0);
  for (const file of shared) {
    const path = file.slice("templates/common/".length);
    assert.ok(taken.filter((one) => one === path).length > 1, `${file} is taken by one template, or by none`);
  }
  const contents = files.map(read);
  assert.deepEqual(
    files.filter((_file, index) => contents.indexOf(contents[index] ?? "") !== index),
    [],
    "copies of another file",
  );
});
