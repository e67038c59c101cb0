/** What `ChunkReader.read` answers when a body has not ended in this piece, or never can. */
export const bodyGoesOn = -1;
export const bodyIsMalformed = -2;

/** Digits of one chunk's size: 2^48 bytes, exact in a number. */
const sizeDigits = 12;
const extensionBytes = 256;
const trailerBytes = 8 * 1024;

const inSize = 0;
const inExtension = 1;
const afterSizeReturn = 2;
const inData = 3;
const afterData = 4;
const afterDataReturn = 5;
const atTrailerStart = 6;
const inTrailer = 7;
const afterTrailerReturn = 8;
const afterLastReturn = 9;
const ended = 10;

/**
 * Reads a chunked body strictly: hexadecimal sizes without blanks, CRLF and nothing else at each place, nothing after the size but an
 * extension. Extensions and trailers are read over and dropped. Judges byte by byte, so how it was cut into pieces changes nothing.
 */
export class ChunkReader {
  #state = inSize;
  #size = 0;
  #digits = 0;
  #extra = 0;

  get ended(): boolean {
    return this.#state === ended;
  }

  /**
   * Takes `piece` from `from` on, calls `onData` for each run of body bytes, and answers the index after the body's last byte, or one of
   * the negative answers above; after a malformed one nothing more may be read.
   */
  read(piece: Buffer, from: number, onData: (data: Buffer) => void): number {
    let index = from;
    while (index < piece.length) {
      if (this.#state === inData) {
        const taken = Math.min(this.#size, piece.length - index);
        onData(piece.subarray(index, index + taken));
        this.#size -= taken;
        index += taken;
        if (this.#size === 0) this.#state = afterData;
        continue;
      }
      if (!this.#step(piece[index] ?? 0)) return bodyIsMalformed;
      index += 1;
      if (this.#state === ended) return index;
    }
    return bodyGoesOn;
  }

  /** One byte that is no data; false when it may not stand here. */
  #step(byte: number): boolean {
    switch (this.#state) {
      case inSize:
        return this.#sizeByte(byte);
      case inExtension:
        if (byte === 13) return this.#go(afterSizeReturn);
        this.#extra += 1;
        return isText(byte) && this.#extra <= extensionBytes;
      case afterSizeReturn:
        if (byte !== 10) return false;
        this.#digits = 0;
        this.#extra = 0;
        return this.#go(this.#size === 0 ? atTrailerStart : inData);
      case afterData:
        return byte === 13 && this.#go(afterDataReturn);
      case afterDataReturn:
        return byte === 10 && this.#go(inSize);
      case atTrailerStart:
        if (byte === 13) return this.#go(afterLastReturn);
        return isText(byte) && byte !== 32 && byte !== 9 && this.#trailerByte();
      case inTrailer:
        if (byte === 13) return this.#go(afterTrailerReturn);
        return isText(byte) && this.#trailerByte();
      case afterTrailerReturn:
        return byte === 10 && this.#go(atTrailerStart);
      case afterLastReturn:
        return byte === 10 && this.#go(ended);
      default:
        return false;
    }
  }

  #sizeByte(byte: number): boolean {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#size = this.#size * 16 + digit;
      this.#digits += 1;
      return this.#digits <= sizeDigits;
    }
    if (this.#digits === 0) return false;
    if (byte === 13) return this.#go(afterSizeReturn);
    return byte === 59 && this.#go(inExtension);
  }

  #trailerByte(): boolean {
    this.#extra += 1;
    this.#state = inTrailer;
    return this.#extra <= trailerBytes;
  }

  #go(state: number): boolean {
    this.#state = state;
    return true;
  }
}

const isText = (byte: number): boolean => (byte > 31 && byte !== 127) || byte === 9;

const hexDigit = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
};
