import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openBrowser, openerOf } from "./browser.ts";

test("a browser is opened only where one could show up", () => {
  assert.deepEqual(openerOf("linux", { DISPLAY: ":0" }), ["xdg-open"]);
  assert.deepEqual(openerOf("linux", { WAYLAND_DISPLAY: "wayland-0" }), ["xdg-open"]);
  assert.equal(openerOf("linux", { DISPLAY: "" }), undefined);
  assert.equal(openerOf("linux", {}), undefined);
  assert.deepEqual(openerOf("darwin", {}), ["open"]);
});

test("the address is one argument, whatever is in it, and a failed opener is told", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-browser-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const opener = join(directory, "opener");
  await writeFile(opener, `#!/bin/sh\nprintf '%s|' "$#" "$@" > ${directory}/seen\nexit "$1"\n`);
  await chmod(opener, 0o755);
  const url = "http://shop.test/.holdfast/open?ticket=a&b='$(touch x)'";
  assert.equal(await openBrowser([opener, "0"], url), true);
  assert.equal(await readFile(join(directory, "seen"), "utf8"), `2|0|${url}|`);
  assert.equal(await openBrowser([opener, "3"], url), false);
  assert.equal(await openBrowser([join(directory, "none")], url), false);
});
