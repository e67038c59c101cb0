import { createHash } from "node:crypto";
import { closeSync, readSync } from "node:fs";
import { modeOf, namesIn, type Node, nodeAt, openFile, targetOf } from "./nodes.ts";
import { type Path, pathOfText, shown, textOf } from "./paths.ts";
import { Refusal } from "./refusal.ts";
import type { ManifestAnswer, ManifestRequest } from "./request.ts";

type Entry = ManifestAnswer["entries"][number];

/** All paths and targets together: the whole is held in memory, here and by whoever asked. */
const textBytesMost = 4 * 1024 * 1024;
const chunkBytes = 1024 * 1024;
/** A project's history stays its computer's own. */
const repository = ".git";
/** Of files and links; a directory may give its own on to what is made in it. */
const setBits = 0o6000;

/** Everything at and below some paths, as it can be shown to somebody and put elsewhere: files, directories and links, nothing else. */
export const manifest = (request: ManifestRequest): ManifestAnswer => {
  const listing = new Listing(request);
  for (const path of request.paths) listing.add(path);
  return { entries: listing.entries };
};

class Listing {
  readonly #request: ManifestRequest;
  readonly #root: Path;
  readonly entries: Entry[] = [];
  readonly #seen = new Set<Path>();
  /** By how they look, so that no two can be taken for each other. */
  readonly #looks = new Map<string, string>();
  #bytes = 0;
  #textBytes = 0;

  constructor(request: ManifestRequest) {
    this.#request = request;
    this.#root = pathOfText(request.root);
  }

  add(text: string): void {
    const path = pathOfText(text);
    const parts = path.split("/").slice(1);
    if (!path.startsWith("/") || parts.some((part) => part === "" || part === "." || part === ".."))
      throw new Refusal("archive_refused", "the path is not plain", text);
    for (const index of parts.slice(0, -1).keys()) {
      const lead = `/${parts.slice(0, index + 1).join("/")}`;
      const kind = nodeAt(`${this.#root}${lead}`)?.kind;
      if (kind === undefined) throw absent(text);
      if (kind !== "directory") throw new Refusal("archive_refused", `it leads through a ${kind}`, text);
    }
    if (!this.#walk(path)) throw absent(text);
  }

  #walk(path: Path): boolean {
    const place = `${this.#root}${path}`;
    const node = nodeAt(place);
    if (!node) return false;
    // One path may be below another.
    if (!this.#seen.has(path)) {
      this.#seen.add(path);
      this.#push(this.#entry(path, place, node));
    }
    if (node.kind === "directory")
      for (const name of namesIn(place)) if (name !== repository) this.#walk(`${path}/${name}`);
    return true;
  }

  #entry(path: Path, place: Path, node: Node): Entry {
    const text = textOf(path);
    if (text === undefined) throw new Refusal("archive_refused", "its name is no UTF-8", shown(path));
    const mode = modeOf(node);
    const plain = { path: text, mode: mode & 0o777, bytes: 0, digest: null, target: null };
    switch (node.kind) {
      case "directory":
        return { ...plain, kind: "directory" };
      case "link": {
        const target = textOf(targetOf(place));
        if (target === undefined) throw new Refusal("archive_refused", "its target is no UTF-8", text);
        return { ...plain, kind: "link", mode: 0o777, target };
      }
      case "file": {
        if ((mode & setBits) !== 0) throw new Refusal("archive_refused", "it is setuid or setgid", text);
        return { ...plain, kind: "file", ...this.#content(place, text, Number(node.facts.size)) };
      }
      case "fifo":
      case "socket":
      case "device":
        throw new Refusal("archive_refused", `it is a ${node.kind}`, text);
    }
  }

  #push(entry: Entry): void {
    const { mostEntries } = this.#request;
    if (this.entries.length === mostEntries)
      throw new Refusal("too_large", `more than ${mostEntries} files, directories and links`);
    this.#textBytes += Buffer.byteLength(entry.path) + Buffer.byteLength(entry.target ?? "");
    if (this.#textBytes > textBytesMost) throw new Refusal("too_large", "names too long to be listed");
    const look = entry.path.normalize("NFKC");
    const twin = this.#looks.get(look);
    if (twin !== undefined) throw new Refusal("archive_refused", "another looks the same", entry.path);
    this.#looks.set(look, entry.path);
    this.entries.push(entry);
  }

  /** The size comes first, so that a hole of a terabyte is refused and not read. */
  #content(place: Path, text: string, size: number): Pick<Entry, "bytes" | "digest"> {
    const { mostBytes } = this.#request;
    const refuseOver = (bytes: number): void => {
      if (this.#bytes + bytes > mostBytes)
        throw new Refusal("too_large", `more than ${mostBytes} bytes in all files together`, text);
    };
    refuseOver(size);
    const file = openFile(place);
    if (file === undefined) throw new Refusal("archive_refused", "it changed while it was read", text);
    try {
      const hash = createHash("sha256");
      const chunk = Buffer.allocUnsafe(chunkBytes);
      let bytes = 0;
      for (let got = -1; got !== 0; bytes += got) {
        got = readSync(file, chunk, 0, chunk.length, null);
        // It may grow while it is read, where its tree is not frozen.
        refuseOver(bytes + got);
        hash.update(chunk.subarray(0, got));
      }
      this.#bytes += bytes;
      return { bytes, digest: hash.digest("hex") };
    } finally {
      closeSync(file);
    }
  }
}

const absent = (path: string): Refusal =>
  new Refusal("file_not_found", "there is nothing at this path", path);
