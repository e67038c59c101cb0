/**
 * Reads a tar stream and refuses what an image must not contain, before root unpacks it: device nodes and FIFOs, setuid or setgid files
 * that the recipe does not list, `trusted.*` and `security.*` attributes, names that leave the root or pass through a link, and entry
 * types it does not know. Throws on the first.
 */
export const checkArchive = async (
  chunks: AsyncIterable<Buffer>,
  allowed: { readonly setuid: readonly string[] },
): Promise<{ readonly entries: number; readonly bytes: number }> => {
  const links = new Set<string>();
  let extra: Extra = {};
  let entries = 0;
  let bytes = 0;
  for await (const entry of readEntries(chunks)) {
    if (entry.type === "x" || entry.type === "L" || entry.type === "K") {
      extra = { ...extra, ...readExtra(entry) };
      continue;
    }
    if (entry.type === "g") refuse("./", "a global extended header");
    checkEntry(
      { ...entry, name: extra.name ?? entry.name, link: extra.link ?? entry.link },
      links,
      allowed.setuid,
    );
    extra = {};
    entries += 1;
    bytes += entry.size;
  }
  if (entries === 0)
    throw new Error("The image archive is empty. Delete it from the cache and run this again.");
  return { entries, bytes };
};

interface Entry {
  readonly name: string;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly link: string;
  /** Only of headers for the next entry. */
  readonly content: Buffer;
}

interface Extra {
  readonly name?: string;
  readonly link?: string;
}

const block = 512;
const headerTypes = new Set(["x", "g", "L", "K"]);
const kinds: Readonly<Record<string, string>> = {
  "3": "a character device",
  "4": "a block device",
  "6": "a FIFO",
};

const checkEntry = (entry: Entry, links: Set<string>, setuid: readonly string[]): void => {
  const path = normalize(entry.name);
  if (!["0", "1", "2", "5"].includes(entry.type))
    refuse(entry.name, kinds[entry.type] ?? `an entry of type ${JSON.stringify(entry.type)}`);
  if (entry.name.startsWith("/") || path.split("/").includes(".."))
    refuse(entry.name, "a name that leaves the image");
  if (entry.type === "1" && (entry.link.startsWith("/") || normalize(entry.link).split("/").includes("..")))
    refuse(entry.name, "a hard link that leaves the image");
  const through = (of: string): string | undefined => {
    for (let parent = of; parent.includes("/"); ) {
      parent = parent.slice(0, parent.lastIndexOf("/"));
      if (links.has(parent)) return parent;
    }
    return undefined;
  };
  const link = through(path);
  if (link !== undefined) refuse(entry.name, `a name that passes through the link ${link}`);
  if (entry.type === "1" && through(normalize(entry.link)) !== undefined)
    refuse(entry.name, "a hard link that passes through another link");
  if (entry.type === "2") links.add(path);
  else if (links.has(path)) refuse(entry.name, "a second entry in the place of a link");
  if (entry.type === "0" && (entry.mode & 0o6000) !== 0 && !setuid.includes(path))
    refuse(entry.name, "a setuid or setgid file that its recipe does not list");
};

const normalize = (name: string): string =>
  name
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");

/** The path and link target that a pax or GNU header gives the next entry; refuses attributes with meaning to the host's kernel. */
const readExtra = (entry: Entry): Extra => {
  const text = entry.content.toString("utf8");
  if (entry.type === "L") return { name: text.replace(/\0.*$/s, "") };
  if (entry.type === "K") return { link: text.replace(/\0.*$/s, "") };
  let extra: Extra = {};
  for (let at = 0; at < entry.content.length; ) {
    const space = entry.content.indexOf(0x20, at);
    const length = Number(entry.content.toString("latin1", at, space));
    if (space < 0 || !Number.isInteger(length) || length <= space - at)
      refuse(entry.name, "a malformed extended header");
    const record = entry.content.toString("utf8", space + 1, at + length - 1);
    const key = record.slice(0, record.indexOf("="));
    const value = record.slice(record.indexOf("=") + 1);
    if (value.includes("\0")) refuse(entry.name, "an extended header with NUL");
    if (/\.(trusted|security)\./.test(`.${key}.`)) refuse(value, `the attribute ${key}`);
    // By these tar takes another name and size than the ones looked at here.
    if (key.startsWith("GNU.")) refuse(value, `the record ${key}`);
    if (key === "size") refuse(entry.name, "a size in an extended header");
    if (key === "path") extra = { ...extra, name: value };
    if (key === "linkpath") extra = { ...extra, link: value };
    at += length;
  }
  return extra;
};

async function* readEntries(chunks: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  let held: Buffer = Buffer.alloc(0);
  let skip = 0;
  let pending: { readonly entry: Omit<Entry, "content">; readonly padded: number } | undefined;
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      if (skip > 0) {
        const taken = Math.min(skip, held.length);
        held = held.subarray(taken);
        skip -= taken;
        if (skip > 0) break;
      }
      if (pending) {
        if (held.length < pending.padded) break;
        yield { ...pending.entry, content: held.subarray(0, pending.entry.size) };
        held = held.subarray(pending.padded);
        pending = undefined;
      }
      if (held.length < block) break;
      const header = held.subarray(0, block);
      held = held.subarray(block);
      if (header.every((byte) => byte === 0)) continue;
      const entry = readHeader(header);
      const padded = Math.ceil(entry.size / block) * block;
      if (!headerTypes.has(entry.type)) {
        yield { ...entry, content: Buffer.alloc(0) };
        skip = padded;
      } else {
        if (entry.size > 1024 * 1024) refuse(entry.name, "an extended header over 1 MiB");
        pending = { entry, padded };
      }
    }
  }
  if (skip > 0 || pending || held.length > 0)
    throw new Error("The image archive is cut short. Delete it from the cache and run this again.");
}

const readHeader = (header: Buffer): Omit<Entry, "content"> => {
  const text = (from: number, length: number): string =>
    header.toString("utf8", from, from + length).replace(/\0.*$/s, "");
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  const name = text(0, 100);
  if (Number.parseInt(text(148, 8), 8) !== sum) refuse(name, "a header with a wrong checksum");
  const octal = (from: number, length: number): number => {
    const value = Number.parseInt(text(from, length).trim() || "0", 8);
    if (!Number.isSafeInteger(value) || value < 0) refuse(name, "a number that is not octal");
    return value;
  };
  const prefix = text(257, 5) === "ustar" && header[263] === 0x30 ? text(345, 155) : "";
  const type = text(156, 1) || "0";
  const size = ["1", "2", "3", "4", "5", "6"].includes(type) ? 0 : octal(124, 12);
  return { name: prefix ? `${prefix}/${name}` : name, type, mode: octal(100, 8), size, link: text(157, 100) };
};

const refuse = (name: string, what: string): never => {
  throw new Error(`The image archive is refused: ${what} (${JSON.stringify(name.slice(0, 200))}).`);
};
