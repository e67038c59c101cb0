/** Kept of what a visitor sends before its turn, until its socket is read no more. */
const enoughBytes = 64 * 1024;

/** What has come of a visitor and was not taken yet, in order. */
export class Ahead {
  #pieces: Buffer[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** No more should be read until some of it is taken. */
  get isFull(): boolean {
    return this.#bytes > enoughBytes;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  take(): Buffer | undefined {
    const piece = this.#pieces.shift();
    this.#bytes -= piece?.length ?? 0;
    return piece;
  }

  /** Puts back what of a piece that was taken begins at `from`. */
  putBack(piece: Buffer, from: number): void {
    if (from >= piece.length) return;
    const rest = piece.subarray(from);
    this.#pieces.unshift(rest);
    this.#bytes += rest.length;
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}
