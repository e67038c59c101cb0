import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "../node24.mjs";
import type { Tally } from "./run-file.ts";

/** The agent's Rust tests. Sums cargo's own `test result` lines; a build that fails is one failure. */
export const runAgentTests = async (signal: AbortSignal): Promise<Tally> => {
  const crate = join(root, "native/agent");
  process.stdout.write("\n— agent: cargo test\n");
  const tally: Tally = { passed: 0, failed: 0 };
  const child = spawn("cargo", ["test", "--locked", "--target", "x86_64-unknown-linux-gnu"], {
    cwd: crate,
    signal,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    process.stdout.write(chunk);
    text += chunk;
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  for (const [, passed, failed] of text.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)) {
    tally.passed += Number(passed);
    tally.failed += Number(failed);
  }
  if (code !== 0 && tally.failed === 0) tally.failed = 1;
  process.stdout.write(`— agent: ${tally.passed} passed, ${tally.failed} failed\n`);
  return tally;
};
