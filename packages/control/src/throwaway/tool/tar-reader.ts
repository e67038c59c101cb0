import { type Path, pathOf, shown } from "./paths.ts";
import { Refusal } from "./refusal.ts";

export type MemberKind = "file" | "hard link" | "link" | "directory" | "fifo";

export interface Member {
  readonly name: Path;
  readonly kind: MemberKind;
  readonly mode: number;
  /** Where a link or hard link points to; empty for others. */
  readonly target: Path;
  /** Of what follows, without padding. A file with holes has fewer than its size. */
  readonly bytes: number;
  /** As it stands in the archive: its attributes and its header, which is the last block. May be changed before it is passed on. */
  readonly head: Buffer;
}

export const blockBytes = 512;
/** Attributes of one member: names, and what the file system keeps beside a file. */
const attributesMost = 1024 * 1024;
/** A range of ids of a cell. */
const idsMost = 65_535;

/**
 * Reads a tar archive of the kind that GNU tar writes with `--format=pax`, and nothing else: members, each followed by what it holds,
 * in pieces and padded. Ends behind the end mark; what follows it must be zeros. Throws a `Refusal` at whatever it does not know.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<Member | Buffer> {
  const bytes = new Bytes(source);
  let attributes: { readonly raw: Buffer; readonly values: Attributes } | undefined;
  for (;;) {
    const block = await bytes.exactly(blockBytes);
    if (isZero(block)) break;
    const header = readHeader(block);
    if (header.type === "x") {
      if (attributes) throw refused("attributes of attributes", header.name);
      if (header.bytes > attributesMost) throw refused("too many attributes", header.name);
      const body = await bytes.exactly(padded(header.bytes));
      attributes = {
        raw: Buffer.concat([block, body]),
        values: readAttributes(body.subarray(0, header.bytes), header.name),
      };
      continue;
    }
    const member = memberOf(header, block, attributes);
    attributes = undefined;
    yield member;
    yield* bytes.some(padded(member.bytes));
  }
  if (attributes) throw refused("attributes of nothing", "");
  await bytes.zerosToTheEnd();
}

export const padded = (bytes: number): number => Math.ceil(bytes / blockBytes) * blockBytes;

const memberOf = (
  header: Header,
  block: Buffer,
  attributes: { readonly raw: Buffer; readonly values: Attributes } | undefined,
): Member => {
  const values = attributes?.values;
  const name = values?.name ?? header.name;
  const kind = kinds[header.type];
  if (kind === undefined) throw refused("an entry of an unknown or forbidden kind", name);
  for (const id of [values?.uid ?? header.uid, values?.gid ?? header.gid])
    if (id > idsMost) throw refused("its owner is none that a computer has", name);
  const bytes = values?.size ?? header.bytes;
  if (kind !== "file" && bytes !== 0) throw refused("content where there is none", name);
  const target = kind === "link" || kind === "hard link" ? (values?.target ?? header.target) : "";
  const head = attributes ? Buffer.concat([attributes.raw, block]) : block;
  return { name, kind, mode: header.mode, target, bytes, head };
};

const kinds: Readonly<Record<string, MemberKind>> = {
  "0": "file",
  "1": "hard link",
  "2": "link",
  "5": "directory",
  "6": "fifo",
};

interface Header {
  readonly name: Path;
  readonly type: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly bytes: number;
  readonly target: Path;
}

const readHeader = (block: Buffer): Header => {
  const [base, before] = [textAt(block, 0, 100), textAt(block, 345, 155)];
  const name = before === "" ? base : `${before}/${base}`;
  if (pathOf(block.subarray(257, 265)) !== "ustar\x0000")
    throw refused("it is no archive of this kind", name);
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (octalAt(block, 148, 8, name) !== sum) throw refused("a header that is damaged", name);
  return {
    name,
    type: String.fromCharCode(block[156] ?? 0),
    mode: octalAt(block, 100, 8, name),
    uid: octalAt(block, 108, 8, name),
    gid: octalAt(block, 116, 8, name),
    bytes: octalAt(block, 124, 12, name),
    target: textAt(block, 157, 100),
  };
};

const textAt = (block: Buffer, at: number, length: number): Path => {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return pathOf(end === -1 ? field : field.subarray(0, end));
};

/** Digits only: what other programs write into numbers that are too large for them is not read. */
const octalAt = (block: Buffer, at: number, length: number, name: Path): number => {
  const text = pathOf(block.subarray(at, at + length));
  if (!/^[0-7]+[\0 ]*$/.test(text)) throw refused("a number that is none", name);
  return Number.parseInt(text, 8);
};

interface Attributes {
  readonly name?: Path;
  readonly target?: Path;
  readonly size?: number;
  readonly uid?: number;
  readonly gid?: number;
}

const readAttributes = (body: Buffer, about: Path): Attributes => {
  const found: { name?: Path; target?: Path; size?: number; uid?: number; gid?: number } = {};
  let sparseName: Path | undefined;
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const digits = space === -1 ? "" : pathOf(body.subarray(at, space));
    const end = /^[1-9]\d{0,6}$/.test(digits) ? at + Number(digits) : 0;
    const record = end > space && end <= body.length ? pathOf(body.subarray(space + 1, end)) : "";
    const equals = record.indexOf("=");
    if (equals < 1 || !record.endsWith("\n")) throw refused("attributes that are damaged", about);
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1, -1)];
    if (key === "path") found.name = pathIn(value, about);
    else if (key === "GNU.sparse.name") sparseName = pathIn(value, about);
    else if (key === "linkpath") found.target = pathIn(value, about);
    else if (key === "size" || key === "uid" || key === "gid") found[key] = numberIn(value, about);
    else if (!allowed.test(key))
      throw refused(`an attribute that is not taken: ${shown(key.slice(0, 100))}`, about);
    at = end;
  }
  return sparseName === undefined ? found : { ...found, name: sparseName };
};

/** Times; where a file has no holes; what users keep beside files, and who else may use them. Anything else would be the host's. */
const allowed =
  /^(?:[amc]time|[ug]name|GNU\.sparse\.(?:major|minor|realsize)|SCHILY\.xattr\.user\.[^\0]+|SCHILY\.acl\.(?:access|default))$/;

const pathIn = (value: string, about: Path): Path => {
  if (value === "" || value.includes("\0")) throw refused("a path with a NUL, or none", about);
  return value;
};

const numberIn = (value: string, about: Path): number => {
  const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw refused("a number that is none", about);
  return number;
};

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);

const refused = (message: string, name: Path): Refusal =>
  new Refusal("archive_refused", message, shown(name.slice(0, 500)));

/** Cuts a stream into the pieces that are asked for. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async exactly(length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.some(length)) pieces.push(piece);
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces, length);
  }

  /** So many bytes in whatever pieces they come. */
  async *some(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#held.length === 0 && !(await this.#more()))
        throw new Refusal("archive_refused", "it ends before its end");
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** The rest of the last record. */
  async zerosToTheEnd(): Promise<void> {
    do {
      if (!isZero(this.#held)) throw new Refusal("archive_refused", "it goes on behind its end");
      this.#held = Buffer.alloc(0);
    } while (await this.#more());
  }

  async #more(): Promise<boolean> {
    const next = await this.#source.next();
    if (next.done === true) return false;
    this.#held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    return true;
  }
}
