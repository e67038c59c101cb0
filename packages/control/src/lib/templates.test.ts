import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { readTemplate } from "./templates.ts";

const directory = mkdtempSync(join(tmpdir(), "hf-test-templates-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const write = (path: string, content: string, mode = 0o644): void => {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), content, { mode });
};
/** The path and content of what a template with these common files comes to, or why it does not. */
const filesWith = async (common: unknown): Promise<readonly (readonly [string, string])[]> => {
  const definition = { web: null, services: [] };
  write("one/template.json", JSON.stringify({ title: "One", summary: "First", common, definition }));
  const { files } = await readTemplate("one", directory);
  return files.map(({ path, content, executable }) => [
    path,
    `${content.toString()}${executable ? " x" : ""}`,
  ]);
};

write("one/files/b.mjs", "own");
write("common/a.css", "shared");
write("common/lib/c.mjs", "tool", 0o755);
write("common/b.mjs", "not own");
write("elsewhere.txt", "outside");
symlinkSync("../elsewhere.txt", join(directory, "common/link"));

test("a template is its own files and the common ones it names", async () => {
  assert.deepEqual(await filesWith(undefined), [["b.mjs", "own"]]);
  assert.deepEqual(await filesWith(["lib/c.mjs", "a.css"]), [
    ["a.css", "shared"],
    ["b.mjs", "own"],
    ["lib/c.mjs", "tool x"],
  ]);
});

test("a common file that is missing, there already, or not below its folder is an error", async () => {
  await assert.rejects(filesWith(["gone.css"]), /ENOENT.*common\/gone\.css/);
  await assert.rejects(filesWith(["lib"]), /common\/lib is no file/);
  await assert.rejects(filesWith(["link"]), /common\/link is no file/);
  await assert.rejects(filesWith(["b.mjs"]), /one has b\.mjs twice/);
  await assert.rejects(filesWith(["a.css", "a.css"]), /one has a\.css twice/);
  const many = Array.from({ length: 200 }, (_, index) => `${index}.css`);
  await assert.rejects(filesWith(many), /more than 200 files/);
  const unsafe = [
    "../elsewhere.txt",
    "/etc/hosts",
    "lib/../a.css",
    "./a.css",
    "lib//c.mjs",
    "lib/..",
    "..",
    "",
  ];
  for (const path of [...unsafe, "a.css\n", "lib\\c.mjs"])
    await assert.rejects(filesWith([path]), { name: "ZodError" }, path);
});
