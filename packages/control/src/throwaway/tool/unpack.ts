import { createHash, type Hash } from "node:crypto";
import { createReadStream, rmSync } from "node:fs";
import { stdin } from "node:process";
import { Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { Extraction } from "./extraction.ts";
import { mark, names, ownBytesMost, readChecksum, readManifest } from "./format.ts";
import { isKept } from "./layout.ts";
import { namesIn, nodeAt } from "./nodes.ts";
import { Order } from "./order.ts";
import { bytesOf, type Path, pathOf, pathOfText } from "./paths.ts";
import { errnoOf, Refusal } from "./refusal.ts";
import type { UnpackAnswer, UnpackRequest } from "./request.ts";
import { type Member, readTar } from "./tar-reader.ts";

/**
 * Puts a packed computer in place, in one reading. What is wrong with it may show at its very end, its checksum: whoever asked throws away
 * what is here then.
 */
export const unpack = async (request: UnpackRequest): Promise<UnpackAnswer> => {
  const unpacking = new Unpacking(request);
  const file = createHash("sha256");
  const source = request.file === null ? stdin : createReadStream(request.file);
  const compressed = Readable.from(hashed(source, file), { objectMode: false });
  const plain = createZstdDecompress();
  compressed.on("error", (error) => plain.destroy(error));
  // Who reads it is told; what shows once nobody does any more must not end the process before it has said why.
  plain.on("error", () => {});
  try {
    await unpacking.run(compressed.pipe(plain));
  } catch (error) {
    throw asRefusal(error, request);
  }
  if (request.digest !== null && file.digest("hex") !== request.digest)
    throw new Refusal("damaged", "its digest is not the one that was written down");
  return unpacking.answer();
};

/** What we packed ourselves and is refused now has been damaged since. */
const asRefusal = (error: unknown, { digest }: UnpackRequest): unknown => {
  const isGarbled = /^Z(?:STD)?_/.test(errnoOf(error) ?? "");
  const refusal = isGarbled ? new Refusal("archive_refused", "it is damaged") : error;
  return digest !== null && refusal instanceof Refusal && refusal.code === "archive_refused"
    ? new Refusal("damaged", refusal.message, refusal.entry)
    : refusal;
};

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    hash.update(piece);
    yield piece;
  }
}

class Unpacking {
  readonly #request: UnpackRequest;
  readonly #order: Order;
  readonly #root: Path;
  readonly #hash = createHash("sha256");
  #definitions: string | null = null;
  #bytes = 0;
  #extraction: Extraction | undefined;

  constructor(request: UnpackRequest) {
    this.#request = request;
    this.#order = new Order(request.purpose, request.mostEntries);
    this.#root = pathOfText(request.root === "/" ? "" : request.root);
  }

  answer(): UnpackAnswer {
    return { entries: this.#order.entries, bytes: this.#bytes, definitions: this.#definitions };
  }

  async run(archive: AsyncIterable<Uint8Array>): Promise<void> {
    // Before anything is taken away: what it needs to run may be among that.
    this.#extraction = new Extraction(this.#request.root);
    try {
      await this.#read(readTar(archive));
      await this.#extraction.finish();
    } finally {
      this.#extraction.end();
    }
  }

  async #read(pieces: AsyncGenerator<Member | Buffer>): Promise<void> {
    const own = this.#ownMembers();
    let next = own.shift();
    let isChecked = false;
    let content: { readonly member: Member; readonly pieces: Buffer[] } | undefined;
    const take = (): void => {
      if (content)
        this.#takeOwn(content.member, Buffer.concat(content.pieces).subarray(0, content.member.bytes));
      if (content?.member.name === names.checksum) isChecked = true;
      content = undefined;
    };
    for await (const piece of pieces) {
      if (!Buffer.isBuffer(piece)) take();
      if (isChecked) throw new Refusal("archive_refused", "it goes on behind its checksum");
      if (Buffer.isBuffer(piece)) {
        if (content?.member.name !== names.checksum) this.#hash.update(piece);
        if (content) content.pieces.push(piece);
        else await this.#extraction?.write(piece);
        continue;
      }
      const expected = next ?? (piece.name === names.checksum ? names.checksum : undefined);
      if (expected !== undefined) {
        refuseOther(piece, expected);
        content = { member: piece, pieces: [] };
        next = own.shift();
      } else await this.#takeMember(piece);
      if (piece.name !== names.checksum) this.#hash.update(piece.head);
    }
    take();
    if (!isChecked) throw new Refusal("archive_refused", "it has no checksum", names.checksum);
  }

  #ownMembers(): string[] {
    const definitions = this.#request.purpose === "export" ? [names.definitions] : [];
    return [names.manifest, ...definitions, names.removed];
  }

  async #takeMember(member: Member): Promise<void> {
    const path = this.#order.judge(member);
    if (member.kind === "file") this.#bytes += member.bytes;
    this.#makeWay(member, this.#placeOf(path));
    await this.#extraction?.write(member.head);
  }

  #takeOwn({ name }: Member, content: Buffer): void {
    if (name === names.manifest) {
      const { purpose } = readManifest(content);
      if (purpose !== this.#request.purpose)
        throw new Refusal("archive_refused", `it was made as an ${purpose}`, names.manifest);
    } else if (name === names.definitions) this.#definitions = content.toString("utf8");
    else if (name === names.removed) this.#remove(content);
    else if (readChecksum(content).sha256 !== this.#hash.digest("hex"))
      throw new Refusal("archive_refused", "its checksum does not fit", names.checksum);
  }

  #remove(list: Buffer): void {
    const records = pathOf(list).split("\0");
    if (records.pop() !== "") throw new Refusal("archive_refused", "it is damaged", names.removed);
    for (const record of records) {
      const path = this.#order.judgeRemoved(record.slice(1));
      if (!this.#leadsThroughDirectories(path)) continue;
      const place = `${this.#root}/${path}`;
      if (record.startsWith(mark.gone)) remove(place);
      else if (!record.startsWith(mark.alone))
        throw new Refusal("archive_refused", "it is damaged", names.removed);
      else if (nodeAt(place)?.kind === "directory") this.#clear(path);
    }
  }

  #leadsThroughDirectories(path: Path): boolean {
    const parts = path.split("/").slice(0, -1);
    return parts.every(
      (_, index) => nodeAt(`${this.#root}/${parts.slice(0, index + 1).join("/")}`)?.kind === "directory",
    );
  }

  #clear(path: Path): void {
    for (const name of namesIn(`${this.#root}/${path}`)) {
      const child = `${path}/${name}`;
      if (!isKept(child)) remove(`${this.#root}/${child}`);
    }
  }

  /** tar replaces a file by a file, and leaves a directory that is a directory. Anything else that stands there goes first. */
  #makeWay(member: Member, place: Path): void {
    const there = nodeAt(place);
    if (!there || (there.kind === "directory" && member.kind === "directory")) return;
    remove(place);
  }

  #placeOf(path: Path): Path {
    const below = path.startsWith("changes/") ? path.slice("changes/".length) : path;
    return `${this.#root}/${below}`;
  }
}

const refuseOther = (member: Member, expected: string): void => {
  const most = Object.entries(ownBytesMost).find(
    ([key]) => names[key as keyof typeof ownBytesMost] === expected,
  );
  if (member.name !== expected || member.kind !== "file" || member.bytes > (most?.[1] ?? 1024))
    throw new Refusal("archive_refused", `${expected} is missing, or not what it should be`, expected);
};

const remove = (place: Path): void => rmSync(bytesOf(place), { recursive: true, force: true });
