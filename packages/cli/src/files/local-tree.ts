import { constants } from "node:fs";
import { type FileHandle, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/**
 * Opens what is at a path without following a link at its end. Throws `CliError` for a link: what it points to may be something that
 * was never meant to leave this machine.
 */
export const openLocal = async (path: string): Promise<FileHandle> => {
  // A trailing slash would make the system follow a link.
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  try {
    // A FIFO must not block the open.
    return await open(plain, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ELOOP") {
      throw new CliError(
        `${path} is a link`,
        "Uploads do not follow links.",
        "Give the file or directory it points to, if you mean that.",
      );
    }
    if (code === "ENOENT")
      throw new CliError(`${path} does not exist`, "There is nothing to upload.", "Check the path.");
    throw new CliError(`${path} cannot be read`, message, "Check its permissions.");
  }
};

export interface TreeEvents {
  /** A FIFO, socket or device: not sent. */
  readonly skipped: (path: string) => void;
  readonly sent: (bytes: number) => void;
}

/**
 * A directory's content as a tar stream. Links are sent as links and never followed, not even when one takes the place of a directory
 * meanwhile: every step goes through the descriptor of its parent. A file that changes its size meanwhile fails the upload.
 */
export async function* tarOf(root: FileHandle, events: TreeEvents): AsyncGenerator<Uint8Array> {
  yield* entriesOf(root, "", events);
  yield tarEnd();
}

async function* entriesOf(
  directory: FileHandle,
  prefix: string,
  events: TreeEvents,
): AsyncGenerator<Uint8Array> {
  const here = `/proc/self/fd/${directory.fd}`;
  for (const name of (await readdir(here)).sort()) {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const handle = await openChild(join(here, name));
    if (handle === undefined) {
      const target = await readlink(join(here, name));
      yield tarHeader({ path, kind: "link", mode: 0o777, modifiedSeconds: 0, sizeBytes: 0, target });
      continue;
    }
    try {
      yield* entry(handle, path, events);
    } finally {
      await handle.close();
    }
  }
}

async function* entry(handle: FileHandle, path: string, events: TreeEvents): AsyncGenerator<Uint8Array> {
  const stat = await handle.stat();
  const common = { path, mode: stat.mode, modifiedSeconds: stat.mtimeMs / 1000 };
  if (stat.isDirectory()) {
    yield tarHeader({ ...common, kind: "directory", sizeBytes: 0 });
    yield* entriesOf(handle, path, events);
    return;
  }
  if (!stat.isFile()) return events.skipped(path);
  yield tarHeader({ ...common, kind: "file", sizeBytes: stat.size });
  let sent = 0;
  for await (const chunk of handle.createReadStream({
    autoClose: false,
    start: 0,
  }) as AsyncIterable<Buffer>) {
    sent += chunk.length;
    if (sent > stat.size) throw changed(path);
    events.sent(chunk.length);
    yield chunk;
  }
  if (sent !== stat.size) throw changed(path);
  yield tarPadding(stat.size);
}

/** Undefined for a link. */
const openChild = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ELOOP") return undefined;
    throw error;
  }
};

const changed = (path: string): CliError =>
  new CliError(
    `${path} changed while it was read`,
    "Nothing was uploaded: an upload is whole or not at all.",
    "Try again when it is quiet.",
  );
