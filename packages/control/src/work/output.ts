import type { OperationOutput } from "@holdfast/contract";
import type { Download } from "../domain/agents.ts";
import { AgentUnreachable } from "../domain/agents.ts";

export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Buffer;
}

export interface OutputPage {
  readonly stdout: string;
  readonly stderr: string;
  /** Cursor behind what the page shows. */
  readonly nextCursor: number;
}

export type Encoding = "text" | "base64";

/**
 * One page of captured output, which begins at `cursor`. As text, a character whose last bytes are not here yet is left for the next page
 * (`final`: nothing more will come, so it is shown as it is; `full`: there is more, so the page must not be empty); other bytes that are not UTF-8 become U+FFFD.
 */
export const outputPage = (
  pieces: readonly OutputPiece[],
  cursor: number,
  options: { readonly encoding: Encoding; readonly final: boolean; readonly full: boolean },
): OutputPage => {
  const total = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
  if (options.encoding === "base64" || options.final)
    return show(pieces, total, cursor, options.encoding === "base64" ? "base64" : "utf8");
  let end = total;
  for (;;) {
    const cut = Math.min(tailStart(pieces, end, "stdout") ?? end, tailStart(pieces, end, "stderr") ?? end);
    if (cut === end) break;
    end = cut;
  }
  // A character that stays unfinished while other output goes on will hardly be finished: progress matters more.
  if (end === 0 && (options.full || total > longestCharacter)) end = total;
  return show(pieces, end, cursor, "utf8");
};

const longestCharacter = 4;

const show = (
  pieces: readonly OutputPiece[],
  end: number,
  cursor: number,
  encoding: "utf8" | "base64",
): OutputPage => ({
  stdout: Buffer.concat(partsOf(pieces, end, "stdout").map(({ bytes }) => bytes)).toString(encoding),
  stderr: Buffer.concat(partsOf(pieces, end, "stderr").map(({ bytes }) => bytes)).toString(encoding),
  nextCursor: cursor + end,
});

/** The pieces of one stream within the first `end` bytes of the page, with their places in it. */
const partsOf = (
  pieces: readonly OutputPiece[],
  end: number,
  stream: OutputPiece["stream"],
): { readonly at: number; readonly bytes: Buffer }[] => {
  const parts: { at: number; bytes: Buffer }[] = [];
  let at = 0;
  for (const piece of pieces) {
    if (at >= end) break;
    if (piece.stream === stream) parts.push({ at, bytes: piece.bytes.subarray(0, end - at) });
    at += piece.bytes.length;
  }
  return parts;
};

/** Where in the page an unfinished character at the end of a stream begins; undefined when there is none. */
const tailStart = (
  pieces: readonly OutputPiece[],
  end: number,
  stream: OutputPiece["stream"],
): number | undefined => {
  const parts = partsOf(pieces, end, stream);
  const last: { readonly at: number; readonly byte: number }[] = [];
  for (let part = parts.length - 1; part >= 0 && last.length < longestCharacter; part -= 1) {
    const { at, bytes } = parts[part] ?? { at: 0, bytes: Buffer.alloc(0) };
    for (let index = bytes.length - 1; index >= 0 && last.length < longestCharacter; index -= 1)
      last.push({ at: at + index, byte: bytes[index] ?? 0 });
  }
  for (const [behind, { at, byte }] of last.entries()) {
    if ((byte & 0xc0) === 0x80) continue;
    return characterBytes(byte) > behind + 1 ? at : undefined;
  }
  return undefined;
};

const characterBytes = (lead: number): number => {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  return 1;
};

export interface Collected {
  readonly pieces: readonly OutputPiece[];
  readonly total: number;
  /** Bytes that the capture let go of while they were being read. */
  readonly dropped: number;
}

/** Reads the OUTPUT of a call that promised at most `mostBytes`; an agent that sends more has broken its word. */
export const collectOutput = async (
  download: Download<"processes.run"> | Download<"output.read">,
  mostBytes: number,
): Promise<Collected> => {
  const pieces: OutputPiece[] = [];
  let total = 0;
  let dropped = 0;
  for await (const piece of download.pieces) {
    if (piece.kind === "event") dropped += piece.event.bytes;
    if (piece.kind !== "output") continue;
    total += piece.bytes.length;
    if (total > mostBytes) {
      download.close();
      throw new AgentUnreachable("the computer's agent sent more output than was asked for", true);
    }
    pieces.push({ stream: piece.stream, bytes: piece.bytes });
  }
  return { pieces, total, dropped };
};

/** Fields that all replies with output share. */
export const outputFields = (
  page: OutputPage,
  held: { readonly total: number; readonly truncated: number },
): Pick<
  OperationOutput<"process.output">,
  "stdout" | "stderr" | "next_cursor" | "more" | "truncated_bytes"
> => ({
  stdout: page.stdout,
  stderr: page.stderr,
  next_cursor: page.nextCursor,
  more: page.nextCursor < held.total,
  truncated_bytes: held.truncated,
});
