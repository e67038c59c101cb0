import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { onInterruption } from "./interruption.ts";

export interface TemporaryDirectory {
  readonly path: string;
  remove(): void;
}

/**
 * A directory of this process. It goes by `remove`, or with the process: at its end or when it is interrupted. `endUsers` ends whoever
 * works in the directory and would outlive the process; it cannot wait.
 */
export const temporaryDirectory = (
  label: string,
  endUsers: () => void = () => undefined,
): TemporaryDirectory => {
  const path = mkdtempSync(join(tmpdir(), `hf-test-${label}-`));
  // Without work of its own: a process that ends by a signal alone says no `exit`.
  const forget = onInterruption(() => Promise.resolve());
  const remove = (): void => {
    process.off("exit", atExit);
    forget();
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  };
  const atExit = (): void => {
    endUsers();
    remove();
  };
  process.on("exit", atExit);
  return { path, remove };
};
