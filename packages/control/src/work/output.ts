import type { OperationOutput } from "@holdfast/contract";
import type { Download } from "../domain/agents.ts";
import { AgentUnreachable } from "../domain/agents.ts";
import { Captured } from "./captured.ts";

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
  captured: Captured,
  cursor: number,
  options: { readonly encoding: Encoding; readonly final: boolean; readonly full: boolean },
): OutputPage => {
  const { total } = captured;
  if (options.encoding === "base64" || options.final)
    return show(captured, total, cursor, options.encoding === "base64" ? "base64" : "utf8");
  let end = total;
  for (let cuts = 0; cuts < mostCuts; cuts += 1) {
    const cut = Math.min(tailStart(captured, end, "stdout"), tailStart(captured, end, "stderr"));
    if (cut === end) break;
    end = cut;
  }
  // A character that stays unfinished while other output goes on will hardly be finished: progress matters more.
  if (end === 0 && (options.full || total > longestCharacter)) end = total;
  return show(captured, end, cursor, "utf8");
};

const longestCharacter = 4;
/** A cut of one stream may halve a character of the other. Bytes that are no text at all look unfinished after each cut: there is an end. */
const mostCuts = 8;

const show = (captured: Captured, end: number, cursor: number, encoding: "utf8" | "base64"): OutputPage => ({
  stdout: captured.bytesOf("stdout", end).toString(encoding),
  stderr: captured.bytesOf("stderr", end).toString(encoding),
  nextCursor: cursor + end,
});

/** Where in the page an unfinished character at the end of a stream begins; `end` when there is none. */
const tailStart = (captured: Captured, end: number, stream: "stdout" | "stderr"): number => {
  const last = captured.lastOf(stream, end, longestCharacter);
  for (const [behind, { at, byte }] of last.entries()) {
    if ((byte & 0xc0) === 0x80) continue;
    return characterBytes(byte) > behind + 1 ? at : end;
  }
  return end;
};

const characterBytes = (lead: number): number => {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  return 1;
};

export interface Collected {
  readonly captured: Captured;
  readonly total: number;
  /** Bytes that the capture let go of while they were being read. */
  readonly dropped: number;
}

/** Frames that hold nothing, or tell of a gap, which an agent may send beside one for each byte. */
const spareFrames = 1024;

/**
 * Reads the OUTPUT of a call that promised at most `mostBytes`; an agent that sends more, or frames without end, has broken its word.
 * `merge`: both streams as one, in the order they came.
 */
export const collectOutput = async (
  download: Download<"processes.run"> | Download<"output.read">,
  mostBytes: number,
  options: { readonly merge?: boolean | undefined } = {},
): Promise<Collected> => {
  const captured = new Captured();
  let frames = 0;
  let dropped = 0;
  for await (const piece of download.pieces) {
    frames += 1;
    if (piece.kind === "event") dropped += piece.event.bytes;
    const bytes = piece.kind === "output" ? piece.bytes.length : 0;
    if (captured.total + bytes > mostBytes || frames > mostBytes + spareFrames) {
      download.close();
      throw new AgentUnreachable("the computer's agent sent more output than was asked for", true);
    }
    if (piece.kind === "output") captured.add(options.merge ? "stdout" : piece.stream, piece.bytes);
  }
  return { captured, total: captured.total, dropped };
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
