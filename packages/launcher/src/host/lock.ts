import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { plainEnvironment } from "./command.ts";

/**
 * Runs `work` while holding an exclusive lock on the file `path`, host-wide, between processes. Node has no flock: a child of
 * util-linux holds it and ends with us, however we end, because its standard input closes.
 */
export const withLock = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const holder = spawn("flock", ["--exclusive", path, "sh", "-c", "echo locked; exec cat"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: plainEnvironment,
  });
  try {
    await Promise.race([
      once(holder.stdout, "data"),
      // Also when it cannot be started at all: `once` then rejects with why.
      once(holder, "exit").then(() => Promise.reject(new Error(`the lock ${path} could not be taken`))),
    ]);
    return await work();
  } finally {
    const ended = holder.pid !== undefined && holder.exitCode === null ? once(holder, "exit") : undefined;
    holder.stdin.end();
    await ended;
  }
};
