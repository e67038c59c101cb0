import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import process from "node:process";
import type { TestContext } from "node:test";

/**
 * Runs a module's text as a program that does the step over and over until the test is over, and then removes `directory`, in which it does
 * so; whatever fails in `attempt(() => …)` is as if it had not been asked. Resolves when it is at it.
 */
export const race = async (context: TestContext, directory: string, step: string): Promise<void> => {
  const program = `
    import * as fs from "node:fs";
    const attempt = (work) => { try { return work(); } catch { return undefined; } };
    console.log("at it");
    for (;;) { ${step} }`;
  const racer = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(async () => {
    racer.kill("SIGKILL");
    await once(racer, "exit");
    await rm(directory, { recursive: true });
  });
  await once(racer.stdout, "data");
};
