import type { HoldfastError, OperationName } from "@holdfast/contract";
import type { Result } from "./handler.ts";
import type { Credential, Principal, Source } from "./principal.ts";

/** What a door hands over: untrusted, except that framing, Host and Origin were checked. */
export interface DispatchRequest {
  readonly operation: OperationName;
  readonly input: unknown;
  readonly credential: Credential;
  readonly source: Source;
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  /** If-Match of a door that has it; fills `if_match` where the operation takes one. */
  readonly ifMatch?: string;
  readonly lastEventId?: string;
  readonly body?: AsyncIterable<Uint8Array>;
}

/** Requests left to this principal in the window, for RateLimit headers. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly windowMs: number;
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
  /** Who a credential is, for what a door must know before an operation (which tools to list). Throws `unauthenticated`. */
  identify(credential: Credential, source: Source): Promise<Principal>;
  /** Whether this principal would see the operation at all (tools/list). */
  offers(principal: Principal, operation: OperationName): boolean;
}
