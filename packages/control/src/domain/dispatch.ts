import type { HoldfastError, OperationName } from "@holdfast/contract";
import type { RateState } from "@holdfast/kit";
import type { Result } from "./handler.ts";
import type { Credential, Principal, Source } from "./principal.ts";

/** What a door hands over: untrusted, except that framing, Host and Origin were checked. */
export interface DispatchRequest {
  readonly operation: OperationName;
  /**
   * The fields of the request. Called once it is known who asks and that they have a place: only then is a body read. `take` counts what is
   * held of it from then on, and throws over a limit.
   */
  readonly input: (take: (bytes: number) => void) => Promise<unknown>;
  readonly credential: Credential;
  readonly source: Source;
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  /** If-Match of a door that has it; fills `if_match` where the operation takes one. */
  readonly ifMatch?: string;
  readonly lastEventId?: string;
  readonly body?: AsyncIterable<Uint8Array>;
  /** Where the door let the request in itself. */
  readonly entrance?: Entrance;
}

/** Bytes that control holds for somebody while it serves one request. */
export interface Held {
  /** Throws `limit_reached` when the subject has too much held already, `unavailable` when all together have. */
  take(bytes: number): void;
  /** Gives back all that was taken, and answers how much that was. May be called more than once. */
  release(): number;
}

/**
 * A request that is let in at a door before it is known what is asked: it has taken one of the principal's requests and one place. Whoever
 * runs an operation for it hands both on with `claim`, so that nothing counts twice.
 */
export interface Entrance {
  /** Aborted when the credential ends, where a stream was asked for. */
  readonly signal: AbortSignal;
  /** What was taken, for the first operation; undefined for all later ones, which take their own. */
  claim(): { readonly rate: RateState; leave(): void } | undefined;
  /** Takes one more request for each answer after the first. Throws `rate_limited`. */
  answering(): void;
  /** Records what the door itself refused of it. */
  refused(refusal: HoldfastError): void;
  /** Gives the place back, unless it was claimed. */
  leave(): void;
}

interface Answered {
  readonly operationId: string;
  readonly rate: RateState | null;
}

/** Never rejects: every failure is an error of the table. */
export type Outcome =
  | (Answered & {
      readonly ok: true;
      readonly result: Result;
      readonly principal: Principal;
      /** True when an earlier request with this key was answered again. */
      readonly replayed: boolean;
      readonly idempotencyExpiresAtMs: number | null;
    })
  | (Answered & { readonly ok: false; readonly error: HoldfastError; readonly retryAfterMs: number | null });

/** The only way to an operation. */
export interface Dispatch {
  (request: DispatchRequest): Promise<Outcome>;
  /** Who a credential is, for what a door must know before an operation (which tools to list). Throws `unauthenticated`, `rate_limited`, `unavailable`, and records it. */
  identify(credential: Credential, source: Source): Promise<Principal>;
  /** Lets a request in whose operation is not known yet. Throws `rate_limited`, `limit_reached`, and records it. */
  enter(principal: Principal, as: "request" | "stream", source: Source): Entrance;
  /** Counts what a door holds of a principal's request before it comes to an operation. Throws as `input`'s `take`. */
  hold(principal: Principal): Held;
  /** Whether this principal would see the operation at all (tools/list). */
  offers(principal: Principal, operation: OperationName): boolean;
}
