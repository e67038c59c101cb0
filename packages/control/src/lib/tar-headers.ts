/** What a header of an archive says. Paths are relative, with `/` between their parts. */
export interface TarHead {
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  readonly mode: number;
  readonly bytes: number;
  readonly target: string | null;
}

export const tarBlock = 512;
/** What the fields of ustar hold; a longer one goes into a record of its own before the header. */
const longestField = 100;

/** Everything that stands before the content of one entry, owned by root. */
export const tarHead = ({ path, kind, mode, bytes, target }: TarHead): Buffer => {
  const long = [
    ...(Buffer.byteLength(path) > longestField ? [record("path", path)] : []),
    ...(Buffer.byteLength(target ?? "") > longestField ? [record("linkpath", target ?? "")] : []),
  ];
  const own = header({ name: path, type: types[kind], mode, bytes, target: target ?? "" });
  if (long.length === 0) return own;
  const records = Buffer.concat(long);
  return Buffer.concat([
    header({ name: "long", type: "x", mode: 0o644, bytes: records.length, target: "" }),
    records,
    tarPadding(records.length),
    own,
  ]);
};

/** Fills the last block of some content. */
export const tarPadding = (bytes: number): Buffer => Buffer.alloc((tarBlock - (bytes % tarBlock)) % tarBlock);

export const tarEnd: Buffer = Buffer.alloc(2 * tarBlock);

const types = { file: "0", link: "2", directory: "5" } as const;

/** `<length of all of it> <key>=<value>\n`. */
const record = (key: string, value: string): Buffer => {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
};

const header = (field: {
  readonly name: string;
  readonly type: string;
  readonly mode: number;
  readonly bytes: number;
  readonly target: string;
}): Buffer => {
  const block = Buffer.alloc(tarBlock);
  Buffer.from(field.name).copy(block, 0, 0, longestField);
  writeOctal(block, field.mode, 100, 8);
  writeOctal(block, 0, 108, 8);
  writeOctal(block, 0, 116, 8);
  writeOctal(block, field.bytes, 124, 12);
  writeOctal(block, 0, 136, 12);
  block.write("        ", 148);
  block.write(field.type, 156);
  Buffer.from(field.target).copy(block, 157, 0, longestField);
  block.write("ustar\0", 257);
  block.write("00", 263);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
};

const writeOctal = (block: Buffer, value: number, offset: number, length: number): void => {
  block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset);
};
