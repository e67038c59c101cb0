import { createHash } from "node:crypto";
import { HoldfastError } from "@holdfast/contract";
import { type Agent, AgentFault } from "../domain/agents.ts";
import type { ManifestEntry, TreeName } from "../domain/trees.ts";
import { tarEnd, tarHead, tarPadding } from "../lib/tar-headers.ts";

/** Where a cell sees the file of a tree. `work` is a disk of its own. */
export const placeIn = (tree: TreeName, path: string): string =>
  isWork(path) ? `/trees/${tree}${path}` : `/trees/${tree}/root${path}`;

export const isWork = (path: string): boolean => path === "/work" || path.startsWith("/work/");

/** Small files whole. Never what a link leads to. */
export const readSmall = async (
  agent: Agent,
  path: string,
  mostBytes: number,
  signal: AbortSignal,
): Promise<Buffer | undefined> => {
  try {
    const { kind, size_bytes } = await agent.plain("files.stat", { path }, { signal });
    if (kind !== "file" || size_bytes > mostBytes) return undefined;
    const pieces: Buffer[] = [];
    // Read to one more: a file that grows is another than was asked for.
    for await (const piece of bytesAt(agent, path, mostBytes + 1, signal)) pieces.push(Buffer.from(piece));
    const content = Buffer.concat(pieces);
    return content.length > mostBytes ? undefined : content;
  } catch (error) {
    if (error instanceof AgentFault && absent.has(error.agentCode)) return undefined;
    throw error;
  }
};

const absent: ReadonlySet<string> = new Set([
  "not_found",
  "not_a_directory",
  "not_regular_file",
  "is_a_directory",
]);

/** Views of received memory: to be used before the next is asked for. */
export async function* bytesAt(
  agent: Agent,
  path: string,
  length: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const download = await agent.download("files.read", { path, length }, { signal });
  let left = length;
  for await (const piece of download.pieces) {
    if (piece.kind !== "data") continue;
    if ((left -= piece.bytes.length) < 0) throw changed(path);
    yield piece.bytes;
  }
}

/**
 * A tar stream made here, of what the manifest says and nothing else: the cell only gives the content of files, and each is checked as it
 * passes. A wrong one ends the stream before the archive has its end mark, so that whoever unpacks it throws all of it away.
 */
export async function* tarOfEntries(
  agent: Agent,
  tree: TreeName,
  entries: readonly ManifestEntry[],
  signal: AbortSignal,
  below = "/",
): AsyncGenerator<Buffer> {
  const prefix = below.endsWith("/") ? below : `${below}/`;
  for (const entry of entries) {
    // The directory itself is there where it is unpacked.
    if (`${entry.path}/` === prefix) continue;
    if (!entry.path.startsWith(prefix))
      throw new HoldfastError("internal", "a path that is not below where it is to go");
    yield tarHead({ ...entry, path: entry.path.slice(prefix.length) });
    if (entry.kind !== "file") continue;
    yield* contentOf(agent, placeIn(tree, entry.path), entry, signal);
    yield tarPadding(entry.bytes);
  }
  yield tarEnd;
}

async function* contentOf(
  agent: Agent,
  place: string,
  { path, bytes, digest }: ManifestEntry,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let read = 0;
  if (bytes > 0)
    for await (const piece of bytesAt(agent, place, bytes, signal)) {
      hash.update(piece);
      read += piece.length;
      yield piece;
    }
  if (read !== bytes || hash.digest("hex") !== digest) throw changed(path);
}

const changed = (path: string): HoldfastError =>
  new HoldfastError("archive_refused", `${path} is not what was written down about it`, {
    entry: path,
    reason: "its content is another",
  });
