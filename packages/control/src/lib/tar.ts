import { tarEnd, tarHead, tarPadding } from "./tar-headers.ts";

/** A file of a small archive. */
export interface TarEntry {
  /** Relative, with `/` between its parts; directories come into being with their files. */
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** A plain stream, for handing a computer a few files in one call. */
export async function* tarOf(entries: readonly TarEntry[]): AsyncGenerator<Buffer> {
  for (const { path, content, executable } of entries) {
    const mode = executable ? 0o755 : 0o644;
    yield tarHead({ path, kind: "file", mode, bytes: content.length, target: null });
    yield content;
    yield tarPadding(content.length);
  }
  yield tarEnd;
}
