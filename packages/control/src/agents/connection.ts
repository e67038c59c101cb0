import { connect, type Socket } from "node:net";
import type { FrameType } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { type Frame, FrameDecoder, frameHeader } from "./frames.ts";
import { ConnectionLost, NoAnswer, ProtocolViolation } from "./violation.ts";

/**
 * One connection to an agent, which is one call. Frames are pulled: nothing is read from the socket unless somebody waits for it, so a
 * slow reader here stalls the agent's writer and holds one socket buffer and one frame. Not for concurrent readers or concurrent writers.
 */
export class AgentConnection {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #decoder = new FrameDecoder({ dataInParts: true });
  #failure: Error | undefined;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;
  readonly #forgetSignal: () => void;

  constructor(options: { readonly path: string; readonly clock: Clock; readonly signal?: AbortSignal }) {
    this.#clock = options.clock;
    this.#socket = connect({ path: options.path });
    const broke = (error?: Error): void => {
      this.#failure ??= new ConnectionLost("the connection to the computer's agent ended", {
        cause: error,
      });
      this.#wake();
    };
    this.#socket.on("error", broke);
    this.#socket.on("close", () => broke());
    this.#socket.on("end", () => this.#wakeReader?.());
    this.#socket.on("readable", () => this.#wakeReader?.());
    this.#socket.on("drain", () => this.#wakeWriter?.());
    const { signal } = options;
    const aborted = (): void => void this.#fail(asError(signal?.reason));
    signal?.addEventListener("abort", aborted, { once: true });
    this.#forgetSignal = () => signal?.removeEventListener("abort", aborted);
    if (signal?.aborted) aborted();
  }

  /**
   * The next frame. Throws `NoAnswer` after `timeoutMs` without a whole one, `ProtocolViolation`, `ConnectionLost`, or the reason of the
   * signal; each of them ends the connection. `Infinity` waits for ever.
   */
  async next(timeoutMs: number): Promise<Frame> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    for (;;) {
      const frame = this.#decode();
      if (frame) return frame;
      const chunk = this.#socket.read() as Buffer | null;
      if (chunk) {
        this.#decoder.push(chunk);
        continue;
      }
      this.#check();
      if (this.#socket.readableEnded) throw this.#fail(new ConnectionLost("the computer's agent hung up"));
      await this.#wait("reader", deadline);
    }
  }

  /** Resolves when there is room for more. Errors as `next`. */
  async write(type: FrameType, payload: Uint8Array, timeoutMs: number): Promise<void> {
    this.#check();
    this.#socket.cork();
    this.#socket.write(frameHeader(type, payload.length));
    const room = payload.length === 0 ? !this.#socket.writableNeedDrain : this.#socket.write(payload);
    this.#socket.uncork();
    if (room) return;
    const deadline = this.#clock.monotonic() + timeoutMs;
    while (this.#socket.writableNeedDrain) {
      await this.#wait("writer", deadline);
      this.#check();
    }
  }

  /** Ends the connection with `NoAnswer` unless the returned function is called within `ms`. */
  expire(ms: number): () => void {
    return this.#clock.after(ms, () => {
      this.#fail(new NoAnswer("the computer's agent did not finish in the time it had"));
    });
  }

  /** Calls back once the socket is gone, whoever ended it. */
  whenClosed(callback: () => void): void {
    if (this.#socket.closed) callback();
    else this.#socket.once("close", callback);
  }

  /** Ends the call, whatever it was doing. Never throws. */
  close(): void {
    this.#fail(new ConnectionLost("the call was closed"));
  }

  #check(): void {
    if (this.#failure) throw this.#failure;
  }

  #decode(): Frame | undefined {
    try {
      return this.#decoder.next();
    } catch (error) {
      throw this.#fail(error instanceof Error ? error : new ProtocolViolation("not a frame"));
    }
  }

  /** Waits until the socket has something for this side, it failed, or the deadline. */
  async #wait(side: "reader" | "writer", deadline: number): Promise<void> {
    let late = false;
    await new Promise<void>((resolve) => {
      const expired = (): void => {
        late = true;
        resolve();
      };
      const cancel = Number.isFinite(deadline)
        ? this.#clock.after(Math.max(0, deadline - this.#clock.monotonic()), expired)
        : () => {};
      const wake = (): void => {
        cancel();
        resolve();
      };
      if (side === "reader") this.#wakeReader = wake;
      else this.#wakeWriter = wake;
      if (this.#failure) wake();
    });
    if (late && !this.#failure) {
      const verb = side === "reader" ? "said" : "took";
      throw this.#fail(new NoAnswer(`the computer's agent ${verb} nothing in the time it had`));
    }
  }

  #fail(error: Error): Error {
    this.#failure ??= error;
    this.#forgetSignal();
    this.#socket.destroy();
    this.#wake();
    return this.#failure;
  }

  #wake(): void {
    this.#wakeReader?.();
    this.#wakeWriter?.();
  }
}

const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new ConnectionLost("the caller went away");
