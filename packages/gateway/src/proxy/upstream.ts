import { connect, type Socket } from "node:net";
import type { Clock } from "@holdfast/kit";
import { type Declined, encodeConnect, GreetingReader } from "./greeting.ts";

/** Who uses a connection into a cell at the moment. */
export interface UpstreamUser {
  upstreamData(piece: Buffer): void;
  /** It will send no more. */
  upstreamEnded(): void;
  upstreamDrained(): void;
  /** It is closed; nothing more comes of it. */
  upstreamGone(): void;
  /** Monotonic: since when nothing happens because of the visitor; undefined when it is not the visitor who is waited for. */
  stalledSince(): number | undefined;
  /** Others need the connection more. */
  evict(): void;
}

/** `absent`: nobody takes connections there, so no cell runs. `silent`: taken, and not answered in time. */
export type Unopened = Declined | "absent" | "silent";

/** One connection to a port inside a cell, for one request after the other, or for one WebSocket. */
export class Upstream {
  readonly #socket: Socket;
  readonly #onClose: (upstream: Upstream) => void;
  #user: UpstreamUser | undefined;
  #ended = false;
  #closed = false;
  /** Monotonic: since when nobody uses it, and until when it may be used again. */
  idleSince = 0;
  idleUntil = 0;
  /** Requests answered on it. */
  served = 0;

  constructor(socket: Socket, onClose: (upstream: Upstream) => void) {
    this.#socket = socket;
    this.#onClose = onClose;
    socket.on("data", (piece) => this.#data(piece));
    socket.on("end", () => this.#end());
    socket.on("drain", () => this.#user?.upstreamDrained());
    // `close` follows, and says all that matters.
    socket.on("error", () => {});
    socket.on("close", () => this.#close());
  }

  /** Nothing has come and nobody has hung up since it was last used. */
  get usable(): boolean {
    return !this.#ended && !this.#closed && !this.#socket.destroyed;
  }

  get user(): UpstreamUser | undefined {
    return this.#user;
  }

  attach(user: UpstreamUser): void {
    this.#user = user;
  }

  /** Lets it go. It must have been read to the end of an answer, and be resumed. */
  detach(): void {
    this.#user = undefined;
  }

  /** False when the other side should catch up first; `upstreamDrained` says when. */
  write(bytes: Buffer | string): boolean {
    return typeof bytes === "string" ? this.#socket.write(bytes, "latin1") : this.#socket.write(bytes);
  }

  /** Several pieces, handed to the kernel at once. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  end(): void {
    this.#socket.end();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #data(piece: Buffer): void {
    if (this.#user) this.#user.upstreamData(piece);
    // An answer without a question: whatever it is, nobody may get it.
    else this.destroy();
  }

  #end(): void {
    this.#ended = true;
    if (this.#user) this.#user.upstreamEnded();
    else this.destroy();
  }

  #close(): void {
    this.#closed = true;
    this.#onClose(this);
    this.#user?.upstreamGone();
    this.#user = undefined;
  }
}

/** Dials the ingress socket of a cell and asks its agent for the port. Never rejects. */
export const openUpstream = (options: {
  readonly path: string;
  readonly port: number;
  readonly withinMs: number;
  readonly clock: Clock;
  readonly onClose: (upstream: Upstream) => void;
}): Promise<Upstream | Unopened> =>
  new Promise((resolve) => {
    const socket = connect({ path: options.path, allowHalfOpen: true });
    const greeting = new GreetingReader();
    const settle = (opened: Upstream | Unopened): void => {
      cancel();
      socket.off("error", failed).off("end", broken).off("close", broken).off("data", read);
      if (typeof opened === "string") socket.on("error", () => {}).destroy();
      resolve(opened);
    };
    const broken = (): void => settle("broken");
    const failed = ({ code }: NodeJS.ErrnoException): void =>
      settle(code === "ENOENT" || code === "ECONNREFUSED" ? "absent" : "broken");
    const read = (piece: Buffer): void => {
      const state = greeting.read(piece);
      if (state === "more") return;
      if (typeof state === "string") settle(state);
      // An app that speaks before it was asked would have its words taken for an answer.
      else settle(state < piece.length ? "broken" : new Upstream(socket, options.onClose));
    };
    const cancel = options.clock.after(options.withinMs, () => settle("silent"));
    socket.on("error", failed).on("end", broken).on("close", broken).on("data", read);
    socket.write(encodeConnect(options.port));
  });
