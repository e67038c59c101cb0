import { limits } from "@holdfast/contract";
import { type AnswerHead, type Asked, readAnswerHead } from "../head/answer.ts";
import { headGoesOn, HeadReader } from "../head/reader.ts";

/** Heads of kind 1xx before an answer; more are a flood. */
const interimHeads = 8;

/** Reads the head of an app's answer, and over those that only say that it will come. */
export class AnswerReader {
  readonly #asked: Asked;
  readonly #byRight: boolean;
  readonly #reader = new HeadReader(limits.visitHeadBytes);
  #interim = 0;

  constructor(asked: Asked, byRight: boolean) {
    this.#asked = asked;
    this.#byRight = byRight;
  }

  /** The head, and where in `piece` its body begins; undefined while it goes on; or why nothing can be made of it. */
  read(piece: Buffer): { readonly answer: AnswerHead; readonly end: number } | string | undefined {
    let end = 0;
    while (end < piece.length) {
      end = this.#reader.read(piece, end);
      if (end === headGoesOn) return undefined;
      if (end < 0) return this.#reader.why(end);
      const answer = readAnswerHead(this.#reader.text, this.#asked, this.#byRight);
      if (typeof answer === "string") return answer;
      if (answer.code >= 200 || answer.webSocket) return { answer, end };
      this.#interim += 1;
      if (this.#interim > interimHeads) return "it says again and again that it will answer";
    }
    return undefined;
  }
}
