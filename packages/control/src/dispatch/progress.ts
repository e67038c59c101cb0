import type { HoldfastError } from "@holdfast/contract";
import type { Clock, NewId, RateState } from "@holdfast/kit";
import type { DispatchRequest } from "../domain/dispatch.ts";
import type { Principal, Source } from "../domain/principal.ts";

/** Who asks for what, as far as it is known by now: a refusal is recorded with as much of it as there is. */
export interface Asked {
  readonly operationId: string;
  readonly operation: string;
  readonly source: Source;
  /** Unix milliseconds, and the same moment monotonic. */
  readonly startedAtMs: number;
  readonly startedAt: number;
  readonly principal: Principal;
  /** Of the input; empty until that was read. */
  readonly digest: Buffer;
}

/** How far a request has come. */
export interface Progress extends Asked {
  principal: Principal;
  rate: (RateState & { readonly allowed: boolean }) | null;
  digest: Buffer;
  /** True once an admitted record exists: the outcome is recorded there, not as a refusal. */
  admitted: boolean;
  /** Resolved with what the caller is answered while the operation is under way: its credential has ended, or callers wait no longer. */
  readonly early: PromiseWithResolvers<HoldfastError>;
  /** What the credential ended with; null while it is good. */
  endedBy: HoldfastError | null;
  /** True once the operation has been done: its answer stands, also where it ended the caller's own credential. */
  done: boolean;
  /** Gives back all that the request holds. */
  leave: () => void;
}

interface Parts {
  readonly clock: Clock;
  readonly ids: NewId;
}

export const askedOf = (parts: Parts, operation: string, principal: Principal, source: Source): Asked => ({
  operationId: parts.ids("operation"),
  operation,
  source,
  startedAtMs: parts.clock.now(),
  startedAt: parts.clock.monotonic(),
  principal,
  digest: Buffer.alloc(0),
});

export const beginProgress = (parts: Parts, request: DispatchRequest, nobody: Principal): Progress => ({
  ...askedOf(parts, request.operation, nobody, request.source),
  rate: null,
  admitted: false,
  early: Promise.withResolvers(),
  endedBy: null,
  done: false,
  leave: () => {},
});
