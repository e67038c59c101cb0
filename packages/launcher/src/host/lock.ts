import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, open, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { plainEnvironment } from "./command.ts";

/**
 * Runs `work` while holding an exclusive lock on the file `path`, host-wide, between processes; it is free again when this one ends,
 * however it ends. The file is root's alone, for whoever can open it can hold it. Whoever holds it may remove it.
 */
export const withLock = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const held = await take(path);
  try {
    return await work();
  } finally {
    await held.close();
  }
};

const take = async (path: string): Promise<FileHandle> => {
  for (;;) {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    try {
      await file.chmod(0o600);
      await lock(file, path);
      // Who held it may have removed it: then it is another's, or nobody's, that counts by now.
      if (await isAt(file, path)) return file;
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
  }
};

/** Node has no flock. That of util-linux locks what both processes have open, and leaves it locked to us. */
const lock = async (file: FileHandle, path: string): Promise<void> => {
  const locker = spawn("flock", ["--exclusive", "3"], {
    stdio: ["ignore", "ignore", "inherit", file.fd],
    env: plainEnvironment,
  });
  const [status] = (await once(locker, "exit")) as [number | null];
  if (status !== 0) throw new Error(`the lock ${path} could not be taken`);
};

const isAt = async (file: FileHandle, path: string): Promise<boolean> => {
  const there = await stat(path).catch(() => undefined);
  const ours = await file.stat();
  return there?.ino === ours.ino && there.dev === ours.dev;
};
