export type OutputStream = "stdout" | "stderr";

/**
 * Output in the order it came. Bytes are copied together, and of the streams only the lengths of their turns are kept: a process that writes
 * one byte here and one byte there, or an agent that cuts its frames so, costs some bytes for each and no object.
 */
export class Captured {
  #bytes = Buffer.alloc(0);
  /** Lengths of the turns: stdout's, stderr's, stdout's and so on. The first may be 0. */
  readonly #turns: number[] = [];
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(stream: OutputStream, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.#total + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#total);
    this.#total += bytes.length;
    if (this.#turns.length === 0 && stream === "stderr") this.#turns.push(0);
    const last = this.#turns.length - 1;
    if (last >= 0 && streamOf(last) === stream) this.#turns[last] = (this.#turns[last] ?? 0) + bytes.length;
    else this.#turns.push(bytes.length);
  }

  /** What came of one stream within the first `end` bytes of all. */
  bytesOf(stream: OutputStream, end: number): Buffer {
    const part = Buffer.allocUnsafe(Math.min(end, this.#total));
    let at = 0;
    let length = 0;
    for (let turn = 0; turn < this.#turns.length && at < end; turn += 1) {
      const next = at + (this.#turns[turn] ?? 0);
      if (streamOf(turn) === stream) length += this.#bytes.copy(part, length, at, Math.min(next, end));
      at = next;
    }
    return part.subarray(0, length);
  }

  /** The last bytes of one stream within the first `end` of all, the last one first, with their places among all. */
  lastOf(
    stream: OutputStream,
    end: number,
    most: number,
  ): readonly { readonly at: number; readonly byte: number }[] {
    const last: { readonly at: number; readonly byte: number }[] = [];
    let next = this.#total;
    for (let turn = this.#turns.length - 1; turn >= 0 && last.length < most; turn -= 1) {
      const begin = next - (this.#turns[turn] ?? 0);
      if (streamOf(turn) === stream)
        for (let at = Math.min(next, end) - 1; at >= begin && last.length < most; at -= 1)
          last.push({ at, byte: this.#bytes[at] ?? 0 });
      next = begin;
    }
    return last;
  }

  #grow(more: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(4096, 2 * (this.#total + more)));
    this.#bytes.copy(bytes, 0, 0, this.#total);
    this.#bytes = bytes;
  }
}

const streamOf = (turn: number): OutputStream => (turn % 2 === 0 ? "stdout" : "stderr");
