/** Pieces up to this size together are copied into one: a copy costs less than a second write. */
const copiedBytes = 16 * 1024;

/** Texts are in latin1: one byte for each character. */
export type Piece = Buffer | string;

/** What pieces are written to: a socket, or what stands for one. */
export interface Sink {
  write(bytes: Buffer): boolean;
  cork(): void;
  uncork(): void;
}

/** Writes the pieces in order, as few writes as is sensible. False when the other side should catch up first. */
export const writeTogether = (sink: Sink, pieces: readonly Piece[]): boolean => {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined && typeof only !== "string") return sink.write(only);
  if (bytes <= copiedBytes) {
    const whole = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const piece of pieces) {
      if (typeof piece === "string") whole.write(piece, at, "latin1");
      else piece.copy(whole, at);
      at += piece.length;
    }
    return sink.write(whole);
  }
  sink.cork();
  let flowing = true;
  for (const piece of pieces)
    flowing = sink.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece) && flowing;
  sink.uncork();
  return flowing;
};

/** Runs of body bytes as one chunk of a chunked body; nothing for none, which would end it. */
export const asChunk = (runs: readonly Buffer[]): readonly Piece[] => {
  let bytes = 0;
  for (const run of runs) bytes += run.length;
  return bytes === 0 ? [] : [`${bytes.toString(16)}\r\n`, ...runs, "\r\n"];
};

export const lastChunk = "0\r\n\r\n";
