import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { formatName, formatVersion, names, ownBytesMost, type PackManifest } from "./format.ts";
import { startTar } from "./gnu-tar.ts";
import { bytesOf, pathOfText } from "./paths.ts";
import { Refusal } from "./refusal.ts";
import type { PackAnswer, PackRequest } from "./request.ts";
import { toFile, toParts } from "./sinks.ts";
import { packed, type PackedTree, removed } from "./survey.ts";
import { readTar } from "./tar-reader.ts";
import { endMark, ownMember, withoutSetBits } from "./tar-writer.ts";

/** Names are handed to tar in pieces of about this size. */
const listBytes = 64 * 1024;

/** Packs a whole tree as `format.ts` says. Its digest is that of the file as it is written. */
export const pack = async (request: PackRequest): Promise<PackAnswer> => {
  const tree = { directory: pathOfText(request.tree), purpose: request.purpose };
  const manifest = survey(tree);
  const hash = createHash("sha256");
  let bytes = 0;
  const write = "file" in request.to ? toFile(request.to.file) : toParts(request.to.parts);
  await pipeline(
    Readable.from(archive(request, tree, manifest), { objectMode: false }),
    createZstdCompress(),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        hash.update(piece);
        bytes += piece.length;
        yield piece;
      }
    },
    write,
  );
  return { digest: hash.digest("hex"), bytes, entries: manifest.entries, left_out: manifest.left_out };
};

const survey = (tree: PackedTree): PackManifest => {
  const counts = { entries: 0, bytes: 0, left_out: 0 };
  for (const [, node] of packed(tree, () => (counts.left_out += 1))) {
    counts.entries += 1;
    if (node.kind === "file") counts.bytes += Number(node.facts.size);
  }
  return { format: formatName, version: formatVersion, purpose: tree.purpose, ...counts };
};

async function* archive(
  { definitions }: PackRequest,
  tree: PackedTree,
  manifest: PackManifest,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const piece of content(tree, manifest, definitions)) {
    hash.update(piece);
    yield piece;
  }
  yield ownMember(names.checksum, json({ sha256: hash.digest("hex") }));
  yield endMark;
}

async function* content(
  tree: PackedTree,
  manifest: PackManifest,
  definitions: string | null,
): AsyncGenerator<Buffer> {
  yield ownMember(names.manifest, json(manifest));
  if (definitions !== null) {
    const text = Buffer.from(definitions, "utf8");
    if (text.length > ownBytesMost.definitions) throw new Refusal("limit_reached", "too many definitions");
    yield ownMember(names.definitions, text);
  }
  yield ownMember(names.removed, removed(tree));
  for await (const piece of readTar(files(tree)))
    if (Buffer.isBuffer(piece)) yield piece;
    else if (tree.purpose === "export" && piece.kind !== "directory" && (piece.mode & 0o6000) !== 0)
      yield withoutSetBits(piece);
    else yield piece.head;
}

/** tar is told every name, and finds none itself. */
async function* files(tree: PackedTree): AsyncGenerator<Buffer> {
  const { child, ended, said } = startTar(bytesOf(tree.directory).toString("utf8"), options);
  const listed = pipeline(Readable.from(list(tree), { objectMode: false }), child.stdin);
  listed.catch(() => {});
  try {
    for await (const piece of child.stdout) yield piece as Buffer;
    const code = await ended;
    if (code !== 0) throw new Error(`tar ended with ${code}: ${said()}`);
    await listed;
  } finally {
    child.kill("SIGKILL");
  }
}

const options: readonly string[] = [
  "--create",
  "--file=-",
  "--format=pax",
  "--pax-option=delete=atime,delete=ctime",
  "--blocking-factor=1",
  "--numeric-owner",
  "--sparse",
  "--xattrs",
  "--xattrs-include=user.*",
  "--acls",
  "--no-recursion",
  "--null",
  "--verbatim-files-from",
  "--files-from=-",
];

function* list(tree: PackedTree): Generator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (const [name] of packed(tree)) {
    const piece = Buffer.from(`${name}\0`, "latin1");
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < listBytes) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
  }
  yield Buffer.concat(pieces);
}

const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`, "utf8");
