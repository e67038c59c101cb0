import type { Path } from "./paths.ts";
import { Refusal } from "./refusal.ts";

/**
 * A packed computer: a tar archive under zstd. Members in this order:
 * - `manifest.json`: what it is;
 * - `definitions.json`, in exports: what control keeps about the computer;
 * - `removed`: what its root has no longer of its image, records that end with NUL;
 * - `work` and all in it, then `changes/…`, what its root has over its image; each directory before what is in it, names in the order of
 *   their bytes;
 * - `checksum.json`: of all bytes before it.
 */
export const names = {
  manifest: "manifest.json",
  definitions: "definitions.json",
  removed: "removed",
  checksum: "checksum.json",
} as const;

/** Of each of our own members, in bytes. */
export const ownBytesMost = {
  manifest: 64 * 1024,
  definitions: 16 * 1024 ** 2,
  removed: 64 * 1024 ** 2,
} as const;

export const formatName = "holdfast computer";
export const formatVersion = 1;

/** Begins a record of `removed`: a path that is gone, or a directory that holds only what the archive has of it. */
export const mark = { gone: "-", alone: "=" } as const;

export interface PackManifest {
  readonly format: typeof formatName;
  readonly version: number;
  readonly purpose: "archive" | "export";
  readonly entries: number;
  /** Of all files, holes counted. */
  readonly bytes: number;
  /** Sockets, devices and, in exports, pipes. */
  readonly left_out: number;
}

export interface Checksum {
  readonly sha256: string;
}

export const readManifest = (content: Buffer): PackManifest => {
  const { format, version, purpose, entries, bytes, left_out } = fieldsOf(content, names.manifest);
  if (format !== formatName) throw new Refusal("archive_refused", "it is no packed computer", names.manifest);
  if (version !== formatVersion)
    throw new Refusal("archive_refused", "another version of Holdfast packed it", names.manifest);
  if (purpose !== "archive" && purpose !== "export") throw damaged(names.manifest);
  const [files, size, left] = [entries, bytes, left_out].map(countOf);
  if (files === undefined || size === undefined || left === undefined) throw damaged(names.manifest);
  return { format, version, purpose, entries: files, bytes: size, left_out: left };
};

export const readChecksum = (content: Buffer): Checksum => {
  const { sha256 } = fieldsOf(content, names.checksum);
  if (typeof sha256 !== "string") throw damaged(names.checksum);
  return { sha256 };
};

/** A path below `work` or `changes`, as it stands in an archive; undefined for one that is not plain. */
export const plainPath = (name: Path): Path | undefined => {
  const path = name.endsWith("/") ? name.slice(0, -1) : name;
  const parts = path.split("/");
  const isPlain = parts.every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\0"));
  return isPlain ? path : undefined;
};

const fieldsOf = (content: Buffer, name: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(content.toString("utf8"));
    if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value));
  } catch {
    // Said below.
  }
  throw damaged(name);
};

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const damaged = (entry: string): Refusal => new Refusal("archive_refused", "it is damaged", entry);
