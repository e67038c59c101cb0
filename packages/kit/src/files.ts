import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Replaces `path` with `content` so that after a power cut either the old or the new content is there, whole: temporary file, fsync,
 * rename, directory fsync. Only for directories that no cell can reach. `sync` stands in for the last: it makes more durable than the
 * directory.
 */
export const writeDurably = async (
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  sync: (directory: string) => Promise<void> = syncDirectory,
): Promise<void> => {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${process.pid}.new`);
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await sync(directory);
};

/** Makes renames and deletions in `directory` durable. */
export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
