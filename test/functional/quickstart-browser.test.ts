import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { root } from "../../tools/node24.mjs";
import { useBrowser } from "../support/browser.ts";
import { useInstance } from "../support/instance.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const instance = await useInstance();
const browser = await useBrowser("quickstart");
const scratch = temporaryDirectory("quickstart");
after(() => scratch.remove());

test("an assistant makes it, its owner opens it in a browser and publishes it, and everyone sees it", {
  timeout: 180_000,
}, async () => {
  const assistant = await instance.assistant();
  const keyFile = join(scratch.path, "key");
  await writeFile(keyFile, assistant.secret, { mode: 0o600 });
  const program = join(root, "examples/quickstart/main.ts");
  const call = [program, "--url", `${instance.url}/mcp`, "--key-file", keyFile];
  const { stdout } = await promisify(execFile)(process.execPath, call);
  assert.match(stdout, /^The quickstart succeeded\./m);
  const [, address = "", slug = ""] =
    /\naddress: (http:\/\/([a-z0-9-]+)\.localhost:\d+)\n$/.exec(stdout) ?? [];
  assert.ok(URL.canParse(address), stdout);

  const owner = await instance.owner();
  const { url } = await owner.projects.open({ project: slug });
  const mine = await browser.visitor();
  await mine.page.goto(url);
  assert.equal(new URL(mine.page.url()).origin, address);
  assert.equal(mine.page.url().includes("/.holdfast/"), false, "the ticket is not in the address that stays");
  const heading = mine.page.getByRole("heading", { name: "An assistant made this" });
  await heading.waitFor();
  await browser.photograph(mine.page, "owner");
  assert.deepEqual(mine.complaints, []);

  const other = await browser.visitor();
  const again = await other.page.goto(url);
  assert.notEqual(again?.status(), 200, "a ticket works once");
  const closed = await other.page.goto(`${address}/`);
  assert.equal(closed?.status(), 404);
  await browser.photograph(other.page, "visitor-before");

  await owner.projects.publish({ project: slug });
  await until("everyone sees it", async () => (await other.page.goto(`${address}/`))?.status() === 200);
  await other.page.getByRole("heading", { name: "An assistant made this" }).waitFor();
  await other.page.getByRole("button", { name: "Wave" }).click();
  await other.page.locator("#waves", { hasText: "1" }).waitFor();

  await owner.projects.unpublish({ project: slug });
  await until("it is closed", async () => (await other.page.goto(`${address}/`))?.status() === 404);
  await mine.page.reload();
  await heading.waitFor();
});
