import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Replaces `path` with `content` so that after a power cut either the old or the new content is there, whole: temporary file, fsync,
 * rename, directory fsync. Only for directories that no cell can reach. The file has this mode, whatever the umask, and this owner: both
 * are given by descriptor, for by name they would be given to whatever the owner of the directory puts in the file's place. `sync` stands
 * in for the last step: it makes more durable than the directory.
 */
export const writeDurably = async (
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  options: {
    readonly owner?: { readonly uid: number; readonly gid: number };
    readonly sync?: ((directory: string) => Promise<void>) | undefined;
  } = {},
): Promise<void> => {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${process.pid}.new`);
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", mode);
  try {
    if (options.owner) await file.chown(options.owner.uid, options.owner.gid);
    await file.chmod(mode);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await (options.sync ?? syncDirectory)(directory);
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
