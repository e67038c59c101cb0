import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { writeAccessFiles } from "./cluster.ts";

/** Puts a link to `victim` wherever root has just put a file. */
const swapper = (path: string, victim: string): string => `
  import { lstatSync, symlinkSync, unlinkSync } from "node:fs";
  const attempt = (work) => { try { return work(); } catch { return undefined; } };
  console.log("swapping");
  for (;;) if (attempt(() => lstatSync(${JSON.stringify(path)}).isFile())) {
    attempt(() => unlinkSync(${JSON.stringify(path)}));
    attempt(() => symlinkSync(${JSON.stringify(victim)}, ${JSON.stringify(path)}));
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
  const program = swapper(join(cluster, "pg_hba.conf"), victim);
  const racer = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(async () => {
    racer.kill("SIGKILL");
    await once(racer, "exit");
    await rm(base, { recursive: true });
  });
  await once(racer.stdout, "data");
  for (let round = 0; round < 200; round += 1) {
    await writeAccessFiles(cluster, postgres).catch(() => undefined);
    const { uid, gid, mode } = await stat(victim);
    assert.deepEqual([uid, gid, mode & 0o777], [0, 0, 0o640], `round ${round}`);
  }
});
