import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { race } from "../../../../test/support/racer.ts";
import { writeAccessFiles } from "./cluster.ts";

/** Puts a link to `victim` wherever root has just put a file. */
const swap = (path: string, victim: string): string => `
  if (attempt(() => fs.lstatSync(${JSON.stringify(path)}).isFile())) {
    attempt(() => fs.unlinkSync(${JSON.stringify(path)}));
    attempt(() => fs.symlinkSync(${JSON.stringify(victim)}, ${JSON.stringify(path)}));
  }`;

test("who may sign in is written for the cluster's user, who cannot make root give it another file meanwhile", async (context) => {
  const base = await mkdtemp(join(tmpdir(), "holdfast-cluster-"));
  const [cluster, victim] = [join(base, "cluster"), join(base, "victim")];
  const postgres = { uid: 60_123, gid: 60_124 };
  await mkdir(cluster);
  await writeAccessFiles(cluster, postgres);
  const made = await stat(join(cluster, "pg_hba.conf"));
  assert.deepEqual([made.uid, made.gid, made.mode & 0o777], [postgres.uid, postgres.gid, 0o600]);

  await writeFile(victim, "root's", { mode: 0o640 });
  await chmod(victim, 0o640);
  await race(context, base, swap(join(cluster, "pg_hba.conf"), victim));
  for (let round = 0; round < 200; round += 1) {
    await writeAccessFiles(cluster, postgres).catch(() => undefined);
    const { uid, gid, mode } = await stat(victim);
    assert.deepEqual([uid, gid, mode & 0o777], [0, 0, 0o640], `round ${round}`);
  }
});
