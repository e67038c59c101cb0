import { HoldfastError, limits, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { Computer } from "../../domain/computer.ts";
import type { BytesResult, EventsResult, ServerEvent } from "../../domain/handler.ts";
import { decodeCursor, encodeCursor } from "../../lib/cursor.ts";
import { type CellParts, withAgent } from "../cell.ts";
import { bounded, fromBase64, gather, wholeText } from "./bytes.ts";
import { type FileView, fileView } from "./view.ts";

/** Files of a computer. Every path is resolved by the agent inside the cell: nothing here touches the host's file system. */
export class Files {
  readonly #parts: CellParts;

  constructor(parts: CellParts) {
    this.#parts = parts;
  }

  read(
    computer: Computer,
    params: OperationParams<"file.read">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"file.read">> {
    const { path, offset, max_bytes, encoding } = params;
    return withAgent(
      this.#parts,
      computer,
      signal,
      async (agent) => {
        const download = await agent.download("files.read", { path, offset, length: max_bytes }, { signal });
        const { file, length } = download.head;
        const bytes = await gather(download, Math.min(length, max_bytes));
        const ends = offset + bytes.length;
        const text = encoding === "text" ? wholeText(bytes, ends < file.size_bytes) : undefined;
        const shown = text === undefined ? bytes.length : text.bytes;
        const next = offset + shown;
        return {
          file: fileView(file),
          content: text === undefined ? bytes.toString("base64") : text.text,
          offset,
          next_offset: shown > 0 && next < file.size_bytes ? next : null,
        };
      },
      { repeatable: true },
    );
  }

  async download(
    computer: Computer,
    params: OperationParams<"file.download">,
    signal: AbortSignal,
  ): Promise<BytesResult> {
    const { path, offset, length } = params;
    const download = await withAgent(
      this.#parts,
      computer,
      signal,
      (agent) =>
        agent.download(
          "files.read",
          { path, offset, ...(length === undefined ? {} : { length }) },
          { signal },
        ),
      { repeatable: true },
    );
    const { file, length: held } = download.head;
    if (held > limits.downloadBytes) {
      download.close();
      throw new HoldfastError(
        "too_large",
        `the file has ${file.size_bytes} bytes, and one download brings at most ${limits.downloadBytes}: take it in parts, with \`offset\` and \`length\` (or a Range header)`,
        { limit: limits.downloadBytes, size_bytes: file.size_bytes },
      );
    }
    const partial = offset > 0 || length !== undefined;
    return {
      bytes: bounded(download, held),
      contentType: "application/octet-stream",
      lengthBytes: held,
      fileName: file.name,
      version: file.version,
      ...(partial && held > 0
        ? { range: { first: offset, last: offset + held - 1, totalBytes: file.size_bytes } }
        : {}),
    };
  }

  async write(
    computer: Computer,
    params: OperationParams<"file.write">,
    signal: AbortSignal,
  ): Promise<FileView> {
    const bytes =
      params.encoding === "base64" ? fromBase64(params.content) : Buffer.from(params.content, "utf8");
    if (!bytes)
      throw new HoldfastError("invalid_input", "the content is not base64", {
        issues: [{ path: ["content"], message: "not base64" }],
      });
    const { path, make_parents, must_not_exist, if_match } = params;
    return withAgent(this.#parts, computer, signal, async (agent) =>
      fileView(
        await agent.upload(
          "files.write",
          {
            path,
            make_parents,
            must_not_exist,
            ...modeOf(params.mode),
            ...(params.user ? { user: params.user } : {}),
            ...(if_match === undefined ? {} : { if_match }),
          },
          one(bytes),
          { signal },
        ),
      ),
    );
  }

  async upload(
    computer: Computer,
    params: OperationParams<"file.upload">,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileView> {
    const { path, make_parents, must_not_exist, uid, gid } = params;
    const user =
      uid === undefined && gid === undefined ? {} : { user: { uid: uid ?? 0, gid: gid ?? uid ?? 0 } };
    return withAgent(this.#parts, computer, signal, async (agent) =>
      fileView(
        await agent.upload(
          "files.write",
          { path, make_parents, must_not_exist, ...modeOf(params.mode), ...user },
          limited(body, limits.uploadBytes),
          { signal, waitMs: slowDiskMs },
        ),
      ),
    );
  }

  edit(
    computer: Computer,
    params: OperationParams<"file.edit">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"file.edit">> {
    const { path, edits, if_match } = params;
    return withAgent(this.#parts, computer, signal, async (agent) => {
      const { file, replaced } = await agent.plain(
        "files.edit",
        { path, edits, ...(if_match === undefined ? {} : { if_match }) },
        { signal },
      );
      return { file: fileView(file), replaced };
    });
  }

  list(
    computer: Computer,
    params: OperationParams<"file.list">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"file.list">> {
    const after = decodeCursor(params.cursor, /^[^/]+$/u);
    return withAgent(
      this.#parts,
      computer,
      signal,
      async (agent) => {
        const { entries, next } = await agent.plain(
          "files.list",
          { path: params.path, limit: params.limit, ...(after === undefined ? {} : { after }) },
          { signal },
        );
        return {
          entries: entries.map(fileView),
          next_cursor: next === null || next === undefined ? null : encodeCursor(next),
        };
      },
      { repeatable: true },
    );
  }

  stat(computer: Computer, params: OperationParams<"file.stat">, signal: AbortSignal): Promise<FileView> {
    const { path, follow } = params;
    return withAgent(
      this.#parts,
      computer,
      signal,
      async (agent) => fileView(await agent.plain("files.stat", { path, follow }, { signal })),
      { repeatable: true },
    );
  }

  move(computer: Computer, params: OperationParams<"file.move">, signal: AbortSignal): Promise<FileView> {
    const { path, to, overwrite } = params;
    return withAgent(this.#parts, computer, signal, async (agent) =>
      fileView(await agent.plain("files.move", { from: path, to, overwrite }, { signal })),
    );
  }

  delete(
    computer: Computer,
    params: OperationParams<"file.delete">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"file.delete">> {
    const { path, recursive } = params;
    return withAgent(this.#parts, computer, signal, (agent) =>
      agent.plain("files.delete", { path, recursive }, { signal, waitMs: slowDiskMs }),
    );
  }

  mkdir(computer: Computer, params: OperationParams<"file.mkdir">, signal: AbortSignal): Promise<FileView> {
    const { path, parents } = params;
    return withAgent(this.#parts, computer, signal, async (agent) =>
      fileView(
        await agent.plain(
          "files.mkdir",
          { path, parents, ...modeOf(params.mode), ...(params.user ? { user: params.user } : {}) },
          { signal },
        ),
      ),
    );
  }

  async watch(
    computer: Computer,
    params: OperationParams<"file.watch">,
    signal: AbortSignal,
  ): Promise<EventsResult> {
    const { path, recursive } = params;
    const download = await withAgent(
      this.#parts,
      computer,
      signal,
      (agent) => agent.download("files.watch", { path, recursive }, { signal, endless: true }),
      { repeatable: true },
    );
    async function* events(): AsyncGenerator<ServerEvent> {
      try {
        for await (const piece of download.pieces)
          if (piece.kind === "event") yield { event: "change", data: piece.event };
      } finally {
        download.close();
      }
    }
    return { events: events() };
  }

  async exportArchive(
    computer: Computer,
    params: OperationParams<"archive.export">,
    signal: AbortSignal,
  ): Promise<BytesResult> {
    const download = await withAgent(
      this.#parts,
      computer,
      signal,
      (agent) => agent.download("tar.export", { path: params.path }, { signal, waitMs: slowDiskMs }),
      { repeatable: true },
    );
    const name = params.path.split("/").findLast((part) => part !== "") ?? "root";
    return { bytes: bounded(download, undefined), contentType: "application/x-tar", fileName: `${name}.tar` };
  }

  importArchive(
    computer: Computer,
    params: OperationParams<"archive.import">,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<OperationOutput<"archive.import">> {
    return withAgent(this.#parts, computer, signal, (agent) =>
      agent.upload(
        "tar.import",
        { path: params.path, limit_bytes: limits.uploadBytes, limit_entries: limits.archiveEntries },
        limited(body, limits.uploadBytes),
        { signal, waitMs: slowDiskMs },
      ),
    );
  }
}

/** What may take long on a full or busy disk: the last write of a large file, many small ones. */
const slowDiskMs = 10 * 60_000;

const modeOf = (mode: string | undefined): { readonly mode?: number } =>
  mode === undefined ? {} : { mode: Number.parseInt(mode, 8) };

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

/** The same bytes. Throws `too_large` once they are more. */
export async function* limited(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > mostBytes)
      throw new HoldfastError("too_large", `the upload is over ${mostBytes} bytes`, { limit: mostBytes });
    yield chunk;
  }
}
