import type { AnswerHead } from "../head/answer.ts";
import { bodyGoesOn, bodyIsMalformed, ChunkReader } from "../head/chunks.ts";
import { asChunk, lastChunk, type Piece } from "./gather.ts";

/** `malformed`: the body is not what its head says; what there is of it is in the pieces. */
export type AnswerState = "goes_on" | "ended" | "ended_with_more" | "malformed";

/** Turns an app's answer into what the visitor gets: framed anew, so that no framing of the app's reaches anyone. */
export class AnswerWriter {
  readonly answer: AnswerHead;
  readonly #minor: 0 | 1;
  readonly #chunks: ChunkReader | undefined;
  #leftBytes: number;

  /** `minor`: of the visitor's HTTP version; 1.0 knows no chunks. */
  constructor(answer: AnswerHead, minor: 0 | 1) {
    this.answer = answer;
    this.#minor = minor;
    this.#chunks = answer.body === "chunked" ? new ChunkReader() : undefined;
    this.#leftBytes = answer.bodyBytes;
  }

  /** Whether the visitor can tell where the answer ends without the connection being closed. */
  get endIsKnown(): boolean {
    const { body } = this.answer;
    return this.#minor === 1 || body === "length" || body === "none";
  }

  /** `closes`: the visitor's connection takes no other request after it. */
  head(closes: boolean): string {
    const { announcedBytes, body, bodyBytes, code, lines, reason, webSocket } = this.answer;
    const text = `HTTP/1.1 ${code} ${reason}\r\n${lines}`;
    if (webSocket) return `${text}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    let framing = "";
    if (body === "length") framing = `Content-Length: ${bodyBytes}\r\n`;
    else if (body !== "none") framing = this.#minor === 1 ? "Transfer-Encoding: chunked\r\n" : "";
    else if (announcedBytes !== undefined) framing = `Content-Length: ${announcedBytes}\r\n`;
    return `${text}${framing}${closes ? "Connection: close\r\n" : ""}\r\n`;
  }

  /** Adds to `pieces` what of `piece` from `at` on belongs to the answer, with the end of its framing where it ends. */
  body(piece: Buffer, at: number, pieces: Piece[]): AnswerState {
    switch (this.answer.body) {
      case "none":
        return at === piece.length ? "ended" : "ended_with_more";
      case "length":
        return this.#measured(piece, at, pieces);
      case "chunked":
        return this.#chunked(piece, at, pieces);
      case "close":
        if (at < piece.length) pieces.push(...this.#framed([piece.subarray(at)]));
        return "goes_on";
    }
  }

  /** What ends an answer whose app has hung up; undefined when that cuts it off. */
  hungUp(): readonly Piece[] | undefined {
    if (this.answer.body !== "close") return undefined;
    return this.#minor === 1 ? [lastChunk] : [];
  }

  #measured(piece: Buffer, at: number, pieces: Piece[]): AnswerState {
    const end = Math.min(piece.length, at + this.#leftBytes);
    this.#leftBytes -= end - at;
    if (end > at) pieces.push(at === 0 && end === piece.length ? piece : piece.subarray(at, end));
    if (this.#leftBytes > 0) return "goes_on";
    return end === piece.length ? "ended" : "ended_with_more";
  }

  #chunked(piece: Buffer, at: number, pieces: Piece[]): AnswerState {
    const runs: Buffer[] = [];
    const end = this.#chunks?.read(piece, at, (run) => runs.push(run)) ?? bodyIsMalformed;
    pieces.push(...this.#framed(runs));
    if (end === bodyIsMalformed) return "malformed";
    if (end === bodyGoesOn) return "goes_on";
    if (this.#minor === 1) pieces.push(lastChunk);
    return end === piece.length ? "ended" : "ended_with_more";
  }

  #framed(runs: readonly Buffer[]): readonly Piece[] {
    return this.#minor === 1 ? asChunk(runs) : runs;
  }
}
