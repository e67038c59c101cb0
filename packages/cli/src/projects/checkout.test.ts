import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { App } from "../app.ts";
import { Console } from "../terminal/console.ts";
import { rememberProject, remote } from "./checkout.ts";

test("git advises nothing in a clone that it cannot do there", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-checkout-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const [origin, clone] = [join(directory, "origin"), join(directory, "clone")];
  const who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", origin]);
  execFileSync("git", [...who, "-C", origin, "commit", "--quiet", "--allow-empty", "--message=First"]);
  execFileSync("git", ["clone", "--quiet", `--origin=${remote}`, origin, clone]);
  const app = new App(new Console(process, {}), { XDG_CONFIG_HOME: directory }, () => 0);
  app.options = { url: "http://127.0.0.1:7300" };
  await rememberProject(app, clone, "board");
  execFileSync("git", [...who, "-C", clone, "commit", "--quiet", "--allow-empty", "--message=Second"]);
  const said = (...words: readonly string[]): string => {
    const { stdout, stderr } = spawnSync("git", ["-C", clone, ...words], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
    });
    return stdout + stderr;
  };
  assert.doesNotMatch(said("status"), /git pull|git push|ahead of/);
  for (const verb of ["pull", "push", "fetch"])
    assert.doesNotMatch(said(verb), /remote-holdfast|set-upstream holdfast/, verb);
  assert.match(said("log", "--oneline", `${remote}/main`), /First/, "what the project has is known");
});
