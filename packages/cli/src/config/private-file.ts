import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { CliError } from "../errors.ts";

/**
 * Reads a file that holds a secret. Refused: links, anything but a regular file, files of other users, and files that group or others
 * may read. Undefined when there is none.
 */
export const readPrivateFile = async (path: string): Promise<string | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      if (error.code === "ELOOP") throw unsafe(path, "it is a link", "Give the file itself.");
      throw new CliError(`${path} cannot be read`, error.message, "Check its owner and permissions.");
    },
  );
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw unsafe(path, "it is not a regular file", "Give a regular file.");
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid && uid !== 0) {
      throw unsafe(path, "it belongs to another user", "Make a copy of your own.");
    }
    if ((stat.mode & 0o077) !== 0) {
      throw unsafe(path, `others may read it (mode ${(stat.mode & 0o777).toString(8)})`, `chmod 600 ${path}`);
    }
    if (stat.size > 64 * 1024)
      throw unsafe(path, "it is too large for what should be in it", "Give another file.");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
};

/** Replaces a file as a whole, readable by its owner only, in a directory of its owner only. */
export const writePrivateFile = async (path: string, content: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
};

const unsafe = (path: string, cause: string, next: string): CliError =>
  new CliError(`${path} is not used`, `A file with a secret must be private: ${cause}.`, next);
