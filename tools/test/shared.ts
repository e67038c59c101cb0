import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startCluster } from "../../test/support/postgres.ts";

/**
 * What the files of a run need not each make for themselves: a Postgres, and our modules compiled. Named to them by the environment; without
 * it, as without this runner, each file makes its own. Answers how to take it away.
 */
export const shareAmongFiles = async (): Promise<() => Promise<void>> => {
  const compiled = await mkdtemp(join(tmpdir(), "hf-test-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = compiled;
  // Where there is none, the files that need it say so.
  const cluster = await startCluster().catch(() => undefined);
  if (cluster) process.env["HOLDFAST_TEST_POSTGRES"] = cluster.socket;
  return async () => {
    await cluster?.stop();
    await rm(compiled, { recursive: true, force: true });
  };
};
