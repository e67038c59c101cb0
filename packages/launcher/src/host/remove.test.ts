import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeTree } from "./remove.ts";

/** Node's own way lost the other directory's file within half a second. */
const tryMs = 3_000;

/** Swaps a directory in `own` for a link to `victim` and back, each for about as long as a few calls of a remover take. */
const swapper = (own: string, victim: string): string => `
  import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
  const attempt = (work) => { try { work(); } catch {} };
  const [directory, aside] = [${JSON.stringify(join(own, "d"))}, ${JSON.stringify(join(own, "aside"))}];
  const pause = () => { for (const end = performance.now() + Math.random() / 2; performance.now() < end; ); };
  console.log("swapping");
  for (;;) {
    attempt(() => mkdirSync(${JSON.stringify(own)}));
    attempt(() => mkdirSync(directory));
    attempt(() => writeFileSync(directory + "/file", ""));
    pause();
    attempt(() => renameSync(directory, aside));
    attempt(() => symlinkSync(${JSON.stringify(victim)}, directory));
    pause();
    attempt(() => unlinkSync(directory));
    attempt(() => renameSync(aside, directory));
  }`;

test("removing a tree never leads elsewhere, whatever its owner swaps meanwhile", async (context) => {
  const base = await mkdtemp(join(tmpdir(), "holdfast-remove-"));
  const [own, victim] = [join(base, "own"), join(base, "victim")];
  await mkdir(victim);
  await writeFile(join(victim, "kept"), "");
  const racer = spawn(process.execPath, ["--input-type=module", "--eval", swapper(own, victim)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(async () => {
    racer.kill("SIGKILL");
    await once(racer, "exit");
    await rm(base, { recursive: true });
  });
  await once(racer.stdout, "data");
  for (const end = performance.now() + tryMs; performance.now() < end; ) {
    // It may lose the race for emptying a directory; that is for who asked to try again.
    await removeTree(own).catch(() => undefined);
    assert.deepEqual(await readdir(victim), ["kept"]);
  }
});
