import { limits } from "@holdfast/contract";
import { headGoesOn, headIsMalformed, HeadReader } from "./reader.ts";
import { readRequestHead, type Refusal, type RequestHead } from "./request.ts";

/** Reads one request's head after the other from what comes. Holds memory only while one has begun. */
export class Intake {
  #reader: HeadReader | undefined;

  /** Whether part of a head has come. */
  get begun(): boolean {
    return this.#reader?.begun === true;
  }

  /** The head, and where in `piece` it ended; undefined while it goes on. After a refusal nobody knows where the next one begins. */
  read(piece: Buffer): { readonly head: RequestHead | Refusal; readonly end: number } | undefined {
    const reader = (this.#reader ??= new HeadReader(limits.visitHeadBytes));
    const end = reader.read(piece);
    if (end === headGoesOn) return undefined;
    this.#reader = undefined;
    if (end >= 0) return { head: readRequestHead(reader.text), end };
    const refused = end === headIsMalformed ? "malformed" : "too_large";
    return { head: { refused, why: reader.why(end) }, end: piece.length };
  }

  forget(): void {
    this.#reader = undefined;
  }
}
