import type { Agent } from "./agents.ts";

/** Whose files are looked at: a snapshot's, or those of a computer that has no cell (the supervisor refuses one that has). */
export type TreeSource = { readonly snapshotId: string } | { readonly volumeOf: string };

export interface TreeDifference {
  /** Absolute, as the computer sees it. Bytes that are no UTF-8 are shown as U+FFFD, as the agent shows them. */
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  /** What it is afterwards; of a removed one, what it was. */
  readonly kind: "file" | "directory" | "link" | "other";
  /** Null: there was, or is, none; or it is no file. */
  readonly sizeBefore: number | null;
  readonly sizeAfter: number | null;
}

export interface Differences {
  /** One page, in the order of their paths' bytes, directories before what is in them. */
  readonly differences: readonly TreeDifference[];
  /** Counted over all pages, up to `limits.differenceEntries` together; then `truncated`. */
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly truncated: boolean;
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null;
}

export interface ManifestEntry {
  /** Absolute, UTF-8, without `.` and `..`. A directory stands before what is in it. */
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  /** Permission bits, at most 0o777. */
  readonly mode: number;
  /** 0 for directories and links. */
  readonly bytes: number;
  /** SHA-256 of a file's content in hexadecimal, null for others. */
  readonly digest: string | null;
  /** Where a link points to, as it is written in it; null for others. */
  readonly target: string | null;
}

export interface Manifest {
  /** In the order of the paths asked for, and below each in the order of bytes. */
  readonly entries: readonly ManifestEntry[];
  /** Of all files together. */
  readonly bytes: number;
  /** SHA-256 over all entries, in hexadecimal: equal for equal content, whenever and wherever it was made. */
  readonly digest: string;
}

/** Trees that are shown to one throwaway cell, all read-only. Legal until the callback it was given to has ended. */
export interface TreeView {
  /**
   * What `b` has otherwise than `a`, over the whole disk or below `path`. Owner, mode, link target, size and content count; times do not.
   * Throws `limit_reached` for a tree that cannot be walked (paths over 4,096 bytes, directories without end).
   */
  diff(options?: {
    readonly path?: string | undefined;
    readonly after?: string | undefined;
    readonly limit?: number;
  }): Promise<Differences>;
  /**
   * Everything at and below `paths`, files by their content, but what is named `.git`. Throws `file_not_found` for a path that is not there, `archive_refused` for a
   * device, socket, FIFO, setuid or setgid file, a path through a link, or names that are no UTF-8 or look the same; `too_large` over
   * `limits.offerEntries` or `limits.offerBytes`.
   */
  manifest(tree: TreeName, paths: readonly string[]): Promise<Manifest>;
  /** Content of a regular file. Undefined: there is none at the path, or it has more than `mostBytes`. */
  read(tree: TreeName, path: string, mostBytes: number): Promise<Buffer | undefined>;
  /** A tar stream (as `Trees.tar`) of a tree that is shown already. */
  tar(tree: TreeName, entries: readonly ManifestEntry[], below?: string): AsyncIterable<Uint8Array>;
}

export type TreeName = "a" | "b";

/** What was found in a file that `export` made. Nothing of it is believed: `definitions` is whatever JSON stood there. */
export interface Imported {
  readonly definitions: unknown;
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Work on whole trees of computers. Nothing on the host walks one: all of it is done in a cell without network that is destroyed
 * afterwards, or (unpacking) in the one cell that the files are for. Filled by `throwaway/`. All may throw `host_full`, `limit_reached` (all
 * throwaways are in use), `unavailable`, `timed_out` and a signal's reason.
 */
export interface Trees {
  look<T>(
    sources: { readonly a: TreeSource; readonly b?: TreeSource },
    use: (view: TreeView) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  /**
   * A tar stream of exactly these entries, with their paths relative to `below` (default: `/`), root as owner. It breaks off with
   * `archive_refused` before its end where a file is not what the entry says. Close it to end the cell.
   */
  tar(
    source: TreeSource,
    entries: readonly ManifestEntry[],
    signal: AbortSignal,
    below?: string,
  ): AsyncIterable<Uint8Array>;
  /**
   * The whole of a tree as one file: a tar archive compressed by zstd, with a manifest and `definitions` first and a checksum last. Sockets, FIFOs
   * and devices are left out and setuid bits dropped. Close it to end the cell.
   */
  export(source: TreeSource, definitions: unknown, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Fills a fresh computer, which runs nothing yet, with what `export` made, through its own agent. Throws `archive_refused` (`details.entry`,
   * `details.reason`: also a checksum that does not fit), `disk_full`, `too_large`; then the computer is to be destroyed: parts of it are there.
   */
  import(agent: Agent, file: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Imported>;
  /**
   * Packs a computer that has no cell into its archive's place, which `archive.open` made. Digest: SHA-256 of the packed file, in
   * hexadecimal. Made again it begins anew.
   */
  pack(computerId: string, signal: AbortSignal): Promise<{ readonly digest: string; readonly bytes: number }>;
  /**
   * Puts the archive, which the computer's own cell is shown as tree, in place in that cell, before anything else runs there. Throws
   * `computer_failed` (`details.reason`) where it is not what was packed. May be done again in the volume of a new `archive.unpack`.
   */
  unpack(agent: Agent, digest: string, signal: AbortSignal): Promise<void>;
  /** As `TreeView.manifest`, of what is there in a computer's own cell; `root` stands before each path. */
  manifestIn(agent: Agent, root: string, paths: readonly string[], signal: AbortSignal): Promise<Manifest>;
}
