import type {
  AgentEnd,
  AgentErrorCode,
  AgentEvent,
  AgentMethodOf,
  AgentParams,
  AgentResult,
  AgentStream,
  ErrorCode,
  ErrorDetails,
} from "@holdfast/contract";
import { HoldfastError } from "@holdfast/contract";

export interface CallOptions {
  /** Ends the call when it aborts; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the agent may take on purpose (a `wait_ms`), on top of what an answer may take anyway. */
  readonly waitMs?: number;
}

/**
 * The agent of one computer. Every call is its own connection. Rejects with `HoldfastError`: what the agent refused (an `AgentFault`), or
 * `cell_unreachable` (an `AgentUnreachable`) when it did not answer, broke off, or broke the protocol.
 */
export interface Agent {
  plain<M extends AgentMethodOf<"plain">>(
    method: M,
    params: AgentParams[M],
    options?: CallOptions,
  ): Promise<AgentResult<M>>;
  /** `body` is read as the agent takes it, and closed (iterator `return`) when the agent refuses before its end. */
  upload<M extends AgentMethodOf<"upload">>(
    method: M,
    params: AgentParams[M],
    body: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<AgentResult<M>>;
  download<M extends AgentMethodOf<"download">>(
    method: M,
    params: AgentParams[M],
    options?: DownloadOptions,
  ): Promise<Download<M>>;
  attach(params: AgentParams["processes.attach"], options?: CallOptions): Promise<Attachment>;
}

export interface DownloadOptions extends CallOptions {
  /** For streams that may say nothing for as long as they like (followers, watchers). */
  readonly endless?: boolean;
}

export type Piece<M extends AgentStream> =
  | { readonly kind: "data"; readonly bytes: Buffer }
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly bytes: Buffer }
  | { readonly kind: "event"; readonly event: AgentEvent<M> };

export interface Download<M extends AgentStream> {
  readonly head: AgentResult<M>;
  /** Once. Pulled: the agent waits while nobody reads. Closing the iterator ends the call. */
  readonly pieces: AsyncIterable<Piece<M>>;
  /** What the agent said at the end; undefined until `pieces` has been read to its end. */
  end(): AgentEnd<M> | undefined;
  close(): void;
}

/** Both directions of a terminal. */
export interface Attachment extends Download<"processes.attach"> {
  /** Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Ends the process's input. */
  endInput(): Promise<void>;
}

export interface Agents {
  of(computerId: string): Agent;
}

/** The agent said no. `agentCode` is its own word for it. */
export class AgentFault extends HoldfastError {
  readonly agentCode: AgentErrorCode;

  constructor(agentCode: AgentErrorCode, code: ErrorCode, message: string, details: ErrorDetails) {
    super(code, message, details);
    this.name = "AgentFault";
    this.agentCode = agentCode;
  }
}

/** No answer from the agent. `begun` is false when the call surely has not been done. */
export class AgentUnreachable extends HoldfastError {
  readonly begun: boolean;

  constructor(message: string, begun: boolean, options?: ErrorOptions) {
    super("cell_unreachable", message, {}, options);
    this.name = "AgentUnreachable";
    this.begun = begun;
  }
}
