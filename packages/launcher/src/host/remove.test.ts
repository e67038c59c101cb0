import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { race } from "../../../../test/support/racer.ts";
import { removeTree } from "./remove.ts";

/** Node's own way lost the other directory's file within half a second. */
const tryMs = 3_000;

/** Swaps a directory in `own` for a link to `victim` and back, each for about as long as a few calls of a remover take. */
const swap = (own: string, victim: string): string => {
  const [directory, aside] = [join(own, "d"), join(own, "aside")].map((path) => JSON.stringify(path));
  const pause = "for (const end = performance.now() + Math.random() / 2; performance.now() < end; );";
  return `
    attempt(() => fs.mkdirSync(${JSON.stringify(own)}));
    attempt(() => fs.mkdirSync(${directory}));
    attempt(() => fs.writeFileSync(${directory} + "/file", ""));
    ${pause}
    attempt(() => fs.renameSync(${directory}, ${aside}));
    attempt(() => fs.symlinkSync(${JSON.stringify(victim)}, ${directory}));
    ${pause}
    attempt(() => fs.unlinkSync(${directory}));
    attempt(() => fs.renameSync(${aside}, ${directory}));`;
};

test("removing a tree never leads elsewhere, whatever its owner swaps meanwhile", async (context) => {
  const base = await mkdtemp(join(tmpdir(), "holdfast-remove-"));
  const [own, victim] = [join(base, "own"), join(base, "victim")];
  await mkdir(victim);
  await writeFile(join(victim, "kept"), "");
  await race(context, base, swap(own, victim));
  for (const end = performance.now() + tryMs; performance.now() < end; ) {
    // It may lose the race for emptying a directory; that is for who asked to try again.
    await removeTree(own).catch(() => undefined);
    assert.deepEqual(await readdir(victim), ["kept"]);
  }
});
