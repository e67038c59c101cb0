/** What `HeadReader.read` answers when the head has not ended in this piece: more is needed, or it can only be refused. */
export const headGoesOn = -1;
export const headIsMalformed = -2;
export const headIsTooLarge = -3;

const atStart = 0;
const inLine = 1;
const afterLine = 2;
const atLineStart = 3;
const afterEmptyLine = 4;

/**
 * Collects one head (of a request or an answer) from pieces as they arrive. It judges byte by byte, so how the bytes were cut changes
 * nothing: a bare CR or LF, NUL, any other control byte except tab, and an empty first line are refused as soon as they are seen; so is a
 * head that has not ended within the limit. Bytes from 0x80 on are let through here.
 */
export class HeadReader {
  readonly #limitBytes: number;
  #state = atStart;
  #held: Buffer | undefined;
  #length = 0;
  #text = "";

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Whether bytes of a head have come that is not whole. */
  get begun(): boolean {
    return this.#length > 0;
  }

  /** The head without its last empty line, in latin1: one character for each byte. Legal after `read` found its end. */
  get text(): string {
    return this.#text;
  }

  /** Why `read` said that it can only be refused, in words. */
  why(end: number): string {
    return end === headIsMalformed
      ? "its head holds a byte that may not stand there"
      : `its head is over ${this.#limitBytes} bytes`;
  }

  /** Where in `piece` the head ends (the index after its last byte), or one of the negative answers above. */
  read(piece: Buffer, from = 0): number {
    const end = Math.min(piece.length, from + this.#limitBytes - this.#length);
    let state = this.#state;
    for (let index = from; index < end; index += 1) {
      const byte = piece[index] ?? 0;
      if ((byte > 31 && byte !== 127) || byte === 9) {
        if (state === afterLine || state === afterEmptyLine) return headIsMalformed;
        state = inLine;
      } else if (byte === 13) {
        if (state === inLine) state = afterLine;
        else if (state === atLineStart) state = afterEmptyLine;
        else return headIsMalformed;
      } else if (byte === 10) {
        if (state === afterLine) state = atLineStart;
        else if (state === afterEmptyLine) return this.#finish(piece, from, index + 1);
        else return headIsMalformed;
      } else return headIsMalformed;
    }
    this.#state = state;
    this.#hold(piece, from, end);
    return this.#length >= this.#limitBytes ? headIsTooLarge : headGoesOn;
  }

  #finish(piece: Buffer, from: number, end: number): number {
    if (this.#held === undefined) this.#text = piece.toString("latin1", from, end - 4);
    else {
      this.#hold(piece, from, end);
      this.#text = this.#held.toString("latin1", 0, this.#length - 4);
    }
    this.#state = atStart;
    this.#held = undefined;
    this.#length = 0;
    return end;
  }

  /** Copies, so that a slow head of few bytes does not keep the large buffer alive that it was read into. */
  #hold(piece: Buffer, from: number, end: number): void {
    const added = end - from;
    if (added === 0) return;
    const wanted = this.#length + added;
    if (this.#held === undefined || this.#held.length < wanted) {
      const larger = Buffer.allocUnsafeSlow(Math.max(512, wanted, 2 * (this.#held?.length ?? 0)));
      this.#held?.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#length, from, end);
    this.#length = wanted;
  }
}
