import type { Failure } from "./failure.ts";
import type { Piece } from "./gather.ts";

/** The visitor's side of an exchange. */
export interface Visitor {
  /** Bytes of the answer. False when the visitor should catch up first; then `visitorDrained` says when. */
  send(pieces: readonly Piece[]): boolean;
  /** The app takes the body now: what has come of it is handed to `take`, and what comes. */
  bodyWanted(): void;
  /** Nothing is taken for now; and then again what has come, and what comes. */
  holdBack(): void;
  goOn(): void;
  /** The app has finished its side of a WebSocket. */
  appEnded(): void;
  /** The whole answer was sent. `again`: another request may follow on the connection. */
  answered(again: boolean): void;
  /** Nothing of an answer was sent, and nothing will be. */
  failed(failure: Failure): void;
  /** Part of an answer was sent and the rest is not to be had: the visitor must be able to tell. */
  cutOff(): void;
}
