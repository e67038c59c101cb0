/** A file of a small archive. */
export interface TarEntry {
  /** Relative, with `/` between its parts; directories come into being with their files. */
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

const block = 512;
/** What the `name` field of ustar holds; our own files need no more. */
const longestName = 100;

/** A plain ustar stream, for handing a computer a few files in one call. Throws for a path that does not fit: they are all our own. */
export async function* tarOf(entries: readonly TarEntry[]): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    yield headerOf(entry);
    yield entry.content;
    const over = entry.content.length % block;
    if (over > 0) yield Buffer.alloc(block - over);
  }
  yield Buffer.alloc(2 * block);
}

const headerOf = ({ path, content, executable }: TarEntry): Buffer => {
  if (Buffer.byteLength(path) > longestName)
    throw new Error(`${path} is longer than the ${longestName} bytes that an archive of ours takes`);
  const header = Buffer.alloc(block);
  header.write(path, 0);
  writeOctal(header, executable ? 0o755 : 0o644, 100, 8);
  writeOctal(header, 0, 108, 8);
  writeOctal(header, 0, 116, 8);
  writeOctal(header, content.length, 124, 12);
  writeOctal(header, 0, 136, 12);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\0", 257);
  header.write("00", 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
};

const writeOctal = (header: Buffer, value: number, offset: number, length: number): void => {
  header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset);
};
