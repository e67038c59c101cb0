import type { OperationName, OperationOutput, OperationParams } from "@holdfast/contract";
import type { Compilable } from "kysely";
import type { Database, Transaction } from "../store/transaction.ts";
import type { Principal, Source } from "./principal.ts";

/** What a handler knows about the request it serves. */
export interface OperationContext {
  readonly operationId: string;
  readonly operation: OperationName;
  readonly principal: Principal;
  readonly source: Source;
  readonly idempotencyKey: string | null;
  /** Wall clock at identification, Unix milliseconds. */
  readonly startedAtMs: number;
  /** Aborts when the caller goes away or control shuts down. What was admitted goes on or is undone by its module. */
  readonly signal: AbortSignal;
  /** The stream of an operation declared `body: "bytes"`; null otherwise. Back-pressure follows the reader. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** SSE's Last-Event-ID, for operations that resume; null otherwise. */
  readonly lastEventId: string | null;
}

/** What `admit` leaves for `run`. `target` is the id of what is acted on; it goes into the record. */
export interface Admitted {
  readonly target?: string | null;
  /**
   * All of it is done with this transaction: the outcome and the kept answer are committed in it too, and there is neither `run` nor a second
   * commit. What was done besides must be nothing if the commit does not come about.
   */
  readonly done?: JsonResult | undefined;
}

/**
 * How one operation is done. Dispatch calls `admit` (if there is one) in the transaction that writes the admitted record and claims the
 * idempotency key, then commits, then `run`; `settle` of the result runs in the transaction that records the outcome. So an operation costs
 * two durable commits, or one where `admit` has done all of it. Operations of class `observe` have no admitted record: their `admit` and `settle` are never called.
 *
 * Both throw `HoldfastError` to refuse or fail. A retryable error (errors.ts) releases the idempotency key, so throw one only if repeating is
 * safe; when it may have happened, throw `timed_out` (kept and replayed, never run again).
 */
export interface Handler<Name extends OperationName, A extends Admitted = Admitted> {
  admit?(transaction: Transaction, context: OperationContext, params: OperationParams<Name>): Promise<A>;
  /** `admitted` is `{}` for a handler without `admit`. */
  run(context: OperationContext, params: OperationParams<Name>, admitted: A): Promise<Result<Name>>;
  /**
   * Runs in the transaction that records that `run` has failed: takes back of what `admit` wrote whatever would stand in the way of the same
   * request made again, for in that moment its key is free. `run` cannot do it alone: the database may be away until then.
   */
  takeBack?(transaction: Transaction, admitted: A): Promise<void>;
  /**
   * What `run` has begun goes on without its caller, who is answered `operation_running` after `limits.answerMs` and finds the result with the
   * same idempotency key.
   */
  readonly goesOn?: boolean;
  /** Of a public operation: who is meant to call it, by whom idempotency keys are told apart. Without it all strangers share them. */
  caller?(params: OperationParams<Name>): string;
  /** The output holds a secret that is shown once: what is stored for a replay is sealed under the caller's own token. */
  readonly sealsOutput?: boolean;
  /**
   * Answers a repeated request (same key, same body) from the target of the first, for replies that go on changing (a computer, a
   * process) or are too large to store. Without it the stored output of the first is answered word for word.
   */
  replay?(context: OperationContext, params: OperationParams<Name>, target: string): Promise<Result<Name>>;
}

interface Settling {
  /** Overrides the target of `admit`. */
  readonly target?: string | null;
  /** Runs in the transaction that records the outcome. Keep it to few statements; they are sent together if not awaited one by one. */
  readonly settle?: (transaction: Transaction) => Promise<void>;
  /**
   * Statements that travel in one flight with the outcome and the commit, instead of a flight of their own. Their results are not looked
   * at. Asked for once more when the commit is tried again.
   */
  readonly last?: (db: Database) => readonly Compilable[];
}

export interface JsonResult<Name extends OperationName = OperationName> extends Settling {
  readonly output: OperationOutput<Name>;
}

/** The stream is closed (iterator `return`) when the caller goes away; the outcome is recorded at its end. */
export interface BytesResult extends Settling {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly contentType: string;
  /** Known length of `bytes`. */
  readonly lengthBytes?: number;
  /** Set when `bytes` is a part: first byte, last byte (inclusive) and whole size. */
  readonly range?: { readonly first: number; readonly last: number; readonly totalBytes: number };
  readonly fileName?: string;
  readonly version?: string;
}

export interface ServerEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** Closed (iterator `return`) when the caller goes away. */
export interface EventsResult extends Settling {
  readonly events: AsyncIterable<ServerEvent>;
}

/** One end of a two-way stream: a WebSocket at the HTTP door. Text messages are strings, binary ones bytes. */
export interface TerminalConnection {
  readonly messages: AsyncIterable<Uint8Array | string>;
  /** Resolves when the peer's buffer has room again. Rejects once closed. */
  send(message: Uint8Array | string): Promise<void>;
  close(reason?: string): void;
  /** Aborts when the peer has gone. */
  readonly signal: AbortSignal;
}

/** `run` has attached already (so failures are ordinary errors); `terminal` then carries the stream until either side ends. */
export interface TerminalResult extends Settling {
  readonly terminal: (connection: TerminalConnection) => Promise<void>;
  /** Called instead when the peer went away before the stream began. */
  readonly abandon: () => void;
}

export type Result<Name extends OperationName = OperationName> =
  | JsonResult<Name>
  | BytesResult
  | EventsResult
  | TerminalResult;

/** Every operations file exports a part of this table; `app.ts` merges them. */
export type Handlers<Names extends OperationName = OperationName> = { readonly [N in Names]: Handler<N> };
