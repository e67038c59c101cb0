/** What control asks of the tool: one of these, as JSON in a file beside it. */
export type Request = DiffRequest | ManifestRequest | PackRequest | UnpackRequest;

export interface DiffRequest {
  readonly kind: "diff";
  /** Directories that hold `work`, `root` and `changes` of a tree. */
  readonly a: string;
  readonly b: string;
  /** Absolute, as the computer sees it. Null: all. */
  readonly path: string | null;
  /** What an earlier page answered as `next`. */
  readonly after: string | null;
  readonly limit: number;
  /** No more than so many are counted. */
  readonly most: number;
}

export interface ManifestRequest {
  readonly kind: "manifest";
  /** Stands before each path. */
  readonly root: string;
  readonly paths: readonly string[];
  readonly mostEntries: number;
  readonly mostBytes: number;
}

export interface PackRequest {
  readonly kind: "pack";
  readonly tree: string;
  /** An archive holds everything, an export what another host takes. */
  readonly purpose: "archive" | "export";
  /** JSON, exports only. */
  readonly definitions: string | null;
  /** A file, or a directory that is given numbered parts, each told in a line and taken away once it is acknowledged. */
  readonly to: { readonly file: string } | { readonly parts: string };
}

export interface UnpackRequest {
  readonly kind: "unpack";
  readonly purpose: "archive" | "export";
  /** Null: standard input. */
  readonly file: string | null;
  /** SHA-256 of the whole file in hexadecimal. Null: its own checksum is all there is. */
  readonly digest: string | null;
  /** Where the computer's root is: `/`. */
  readonly root: string;
  readonly mostEntries: number;
}

/** The last line of standard output. */
export type Answer =
  | { readonly done: unknown }
  | {
      readonly refused: {
        readonly code: string;
        readonly message: string;
        readonly entry: string | null;
      };
    };

export interface DiffAnswer {
  readonly differences: readonly {
    readonly path: string;
    readonly change: "added" | "changed" | "removed";
    readonly kind: "file" | "directory" | "link" | "other";
    readonly size_before: number | null;
    readonly size_after: number | null;
  }[];
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly truncated: boolean;
  readonly next: string | null;
}

export interface ManifestAnswer {
  readonly entries: readonly {
    readonly path: string;
    readonly kind: "file" | "directory" | "link";
    readonly mode: number;
    readonly bytes: number;
    readonly digest: string | null;
    readonly target: string | null;
  }[];
}

export interface PackAnswer {
  readonly digest: string;
  readonly bytes: number;
  readonly entries: number;
  readonly left_out: number;
}

export interface UnpackAnswer {
  readonly entries: number;
  readonly bytes: number;
  /** JSON as it stood there. */
  readonly definitions: string | null;
}
