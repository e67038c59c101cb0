import type { OperationOutput } from "@holdfast/contract";
import { HoldfastConnectionError } from "./errors.ts";

/** A two-way stream to a process on a terminal. Closing it detaches; the process goes on. */
export interface Attachment {
  /** Terminal bytes, history first. Ends with the process or the connection. */
  readonly output: AsyncIterable<Uint8Array>;
  /** The process when it has ended; null when the connection closed before that. */
  readonly ended: Promise<OperationOutput<"process.get"> | null>;
  write(data: Uint8Array | string): void;
  resize(columns: number, rows: number): void;
  /** Bytes written that have not left yet. */
  readonly unsentBytes: number;
  close(): void;
}

/** Resolves once the socket is open. Throws `HoldfastConnectionError` when it is refused. */
export const openAttachment = async (socket: WebSocket, signal?: AbortSignal): Promise<Attachment> => {
  socket.binaryType = "arraybuffer";
  const chunks = new Chunks();
  let last: OperationOutput<"process.get"> | null = null;
  const { promise: ended, resolve: end } = Promise.withResolvers<OperationOutput<"process.get"> | null>();
  socket.addEventListener("message", (message: { readonly data: unknown }) => {
    if (message.data instanceof ArrayBuffer) return chunks.push(new Uint8Array(message.data));
    last = processOf(message.data) ?? last;
  });
  socket.addEventListener("close", () => {
    chunks.end();
    end(last);
  });
  const close = (): void => socket.close(1000);
  signal?.addEventListener("abort", close, { once: true });
  await opened(socket);
  return {
    output: chunks,
    ended,
    write: (data) =>
      socket.send(typeof data === "string" ? new TextEncoder().encode(data) : Uint8Array.from(data)),
    resize: (columns, rows) => socket.send(JSON.stringify({ type: "resize", columns, rows })),
    get unsentBytes() {
      return socket.bufferedAmount;
    },
    close,
  };
};

const opened = (socket: WebSocket): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    // The reason of a refused upgrade never reaches a WebSocket client: the REST call of the same process tells it.
    const refused = (): void =>
      reject(
        new HoldfastConnectionError(
          "The terminal could not be attached. Look at the process first: it may have ended.",
        ),
      );
    socket.addEventListener("error", refused, { once: true });
    socket.addEventListener("close", refused, { once: true });
  });

const processOf = (text: unknown): OperationOutput<"process.get"> | undefined => {
  if (typeof text !== "string") return undefined;
  const message = JSON.parse(text) as { type?: string; process?: OperationOutput<"process.get"> };
  return message.type === "end" ? message.process : undefined;
};

class Chunks implements AsyncIterable<Uint8Array> {
  readonly #items: Uint8Array[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(chunk: Uint8Array): void {
    this.#items.push(chunk);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#items.shift();
      if (chunk) yield chunk;
      else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
