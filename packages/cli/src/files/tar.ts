/** One entry of an archive. */
export interface TarEntry {
  /** Relative, with slashes. */
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  readonly mode: number;
  readonly modifiedSeconds: number;
  /** Of a file: exactly this many bytes follow. */
  readonly sizeBytes: number;
  /** Of a link. */
  readonly target?: string;
}

const block = 512;

/** The header of an entry: ustar, with a pax header before it where ustar's fields are too small. Owner is root of the computer. */
export const tarHeader = (entry: TarEntry): Buffer => {
  const path = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const records = [
    ...(fits(path, 100) ? [] : [paxRecord("path", path)]),
    ...(entry.target === undefined || fits(entry.target, 100) ? [] : [paxRecord("linkpath", entry.target)]),
    ...(entry.sizeBytes < 8 ** 11 ? [] : [paxRecord("size", String(entry.sizeBytes))]),
  ];
  const plain = ustar(
    { ...entry, path },
    entry.kind === "file" ? "0" : entry.kind === "directory" ? "5" : "2",
  );
  if (records.length === 0) return plain;
  const body = Buffer.concat(records);
  const pax = { path: "pax", kind: "file", mode: 0o644, modifiedSeconds: 0, sizeBytes: body.length } as const;
  return Buffer.concat([ustar(pax, "x"), body, Buffer.alloc(padding(body.length)), plain]);
};

/** Zeros after the content of a file. */
export const tarPadding = (sizeBytes: number): Buffer => Buffer.alloc(padding(sizeBytes));

/** Two empty blocks end an archive. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * block);

const ustar = (entry: TarEntry, type: string): Buffer => {
  const header = Buffer.alloc(block);
  header.write(cut(entry.path, 100), 0);
  header.write(octal(entry.mode & 0o777, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(entry.sizeBytes < 8 ** 11 ? entry.sizeBytes : 0, 12), 124);
  header.write(octal(Math.max(0, Math.floor(entry.modifiedSeconds)), 12), 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(cut(entry.target ?? "", 100), 157);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
};

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
const padding = (size: number): number => (block - (size % block)) % block;
const fits = (text: string, bytes: number): boolean => Buffer.byteLength(text) <= bytes;

/** Whole characters only; the pax record has the full text. */
const cut = (text: string, bytes: number): string => {
  let short = text;
  while (Buffer.byteLength(short) > bytes) short = short.slice(0, -1);
  return short;
};

/** `<length> <key>=<value>\n`, where the length counts itself. */
const paxRecord = (key: string, value: string): Buffer => {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
};
