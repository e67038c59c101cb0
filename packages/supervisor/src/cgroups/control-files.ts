import { chmod, mkdir, readFile, readdir, rmdir, writeFile } from "node:fs/promises";
import { hasCode, isMissing } from "../lib/files.ts";

/** Control files take one write; they are never created. */
export const write = (path: string, value: string): Promise<void> => writeFile(path, value, { flag: "r+" });

/** Undefined when the file or its cgroup is gone. */
export const read = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    // ENODEV: the cgroup was removed between opening and reading.
    if (isMissing(error) || hasCode(error, "ENODEV")) return undefined;
    throw error;
  }
};

export const readNumber = async (path: string): Promise<number> => {
  const value = Number((await read(path))?.trim());
  return Number.isFinite(value) ? value : 0;
};

/** One value of a file of `key value` lines; 0 when it is not there. */
export const field = (text: string | undefined, key: string): number => {
  const line = text?.split("\n").find((candidate) => candidate.startsWith(`${key} `));
  const value = Number(line?.slice(key.length + 1));
  return Number.isSafeInteger(value) ? value : 0;
};

/** Cells read their own counts here (as on any host), whatever umask the supervisor was started with. */
export const make = async (path: string): Promise<void> => {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
};

/** Removes a cgroup and its children, which a cell may have nested; nothing is followed, only directories are removed. */
export const removeNested = async (path: string): Promise<void> => {
  let entries;
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const entry of entries) if (entry.isDirectory()) await removeNested(`${path}/${entry.name}`);
  try {
    await rmdir(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
};

/** Names of the child cgroups. */
export const children = async (path: string): Promise<string[]> => {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};
