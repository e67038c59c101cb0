import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Digest of the sources a program runs from, so that `up` after an upgrade restarts what changed and leaves the rest alone. Lock file
 * included: dependencies change with it.
 */
export const digestSources = async (root: string, directories: readonly string[]): Promise<string> => {
  const hash = createHash("sha256");
  for (const directory of [...directories].sort()) {
    for (const file of await listFiles(join(root, directory))) {
      hash
        .update(`${file.slice(root.length)}\0`)
        .update(await readFile(file))
        .update("\0");
    }
  }
  hash.update(await readFile(join(root, "package-lock.json")));
  return hash.digest("hex").slice(0, 32);
};

const listFiles = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && !/\.(md|test\.ts)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
