import { bodyGoesOn, bodyIsMalformed, ChunkReader } from "../head/chunks.ts";
import { inChunks } from "../head/request.ts";
import { asChunk, lastChunk, type Piece } from "./gather.ts";

/** The body of a request on its way to the app: counted or framed anew, so that nothing behind it comes along. */
export class QuestionBody {
  readonly #chunks: ChunkReader | undefined;
  #leftBytes: number;
  #ended: boolean;
  /** Without framing. */
  bytes = 0;

  /** `bodyBytes` as in the head: a length, or `inChunks`. */
  constructor(bodyBytes: number) {
    this.#chunks = bodyBytes === inChunks ? new ChunkReader() : undefined;
    this.#leftBytes = Math.max(0, bodyBytes);
    this.#ended = bodyBytes === 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Adds to `pieces` what of `piece` is for the app, with its framing. Answers the index after the body's last byte, or `bodyGoesOn` or
   * `bodyIsMalformed`.
   */
  read(piece: Buffer, pieces: Piece[]): number {
    if (this.#chunks) return this.#chunked(this.#chunks, piece, pieces);
    const end = Math.min(piece.length, this.#leftBytes);
    this.#leftBytes -= end;
    this.bytes += end;
    pieces.push(end === piece.length ? piece : piece.subarray(0, end));
    this.#ended = this.#leftBytes === 0;
    return this.#ended ? end : bodyGoesOn;
  }

  #chunked(chunks: ChunkReader, piece: Buffer, pieces: Piece[]): number {
    const runs: Buffer[] = [];
    const end = chunks.read(piece, 0, (run) => {
      runs.push(run);
      this.bytes += run.length;
    });
    if (end === bodyIsMalformed) return end;
    pieces.push(...asChunk(runs));
    if (end === bodyGoesOn) return end;
    pieces.push(lastChunk);
    this.#ended = true;
    return end;
  }
}
