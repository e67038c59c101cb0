import { Readable } from "node:stream";
import type { App } from "../app.ts";
import { startStopwatch } from "../lib/time.ts";
import { formatBytes } from "../lib/units.ts";

/** How much has gone through, told at most four times a second. */
export class Progress {
  readonly #app: App;
  readonly #words: string;
  readonly #elapsed = startStopwatch();
  #told = 0;
  #off = false;
  bytes = 0;

  constructor(app: App, words: string) {
    this.#app = app;
    this.#words = words;
  }

  off(): void {
    this.#off = true;
  }

  count(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
    return streamOf(this.counted(chunks));
  }

  async *counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.add(chunk.length);
      yield chunk;
    }
  }

  add(bytes: number): void {
    this.bytes += bytes;
    const now = this.#elapsed();
    if (this.#off || now - this.#told < 250 || now < 500) return;
    this.#told = now;
    const rate = this.bytes / (now / 1000);
    this.#app.console.progress(`${this.#words}: ${formatBytes(this.bytes)}, ${formatBytes(rate)}/s`);
  }

  end(): void {
    if (this.#told > 0) this.#app.console.clearProgress();
  }
}

export const streamOf = (chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> =>
  Readable.toWeb(
    Readable.from(chunks, { objectMode: false, highWaterMark: 256 * 1024 }),
  ) as ReadableStream<Uint8Array>;
