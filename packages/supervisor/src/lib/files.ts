import { chmod, chown, mkdir, readFile, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";

/** Makes a directory of root's with exactly this mode, whatever the umask, and this group. */
export const makeDirectory = async (path: string, mode: number, gid = 0): Promise<void> => {
  await mkdir(path, { recursive: true, mode });
  await chown(path, 0, gid);
  await chmod(path, mode);
};

/** Undefined when there is no such file. */
export const readIfThere = async (
  path: string,
  encoding: "utf8" | "base64" = "utf8",
): Promise<string | undefined> => {
  try {
    return await readFile(path, encoding);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

/** The names in a directory; none when there is no such directory. */
export const namesIn = async (path: string): Promise<string[]> => {
  try {
    return await readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

export const exists = async (path: string): Promise<boolean> => {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
};

/** Only for trees that no cell can write. */
export const removeTree = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export const isMissing = (error: unknown): boolean => hasCode(error, "ENOENT");

export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);

/** Replaces a file as a whole, without waiting for the disk: for facts that a reboot makes void. */
export const writeWhole = async (path: string, content: string): Promise<void> => {
  const temporary = `${path}.new`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, path);
};

/** Removes an empty directory, if it is there. Throws for one that is a mount point or holds anything. */
export const removeDirectory = async (path: string): Promise<void> => {
  try {
    await rmdir(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
};
