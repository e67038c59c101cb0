import type { OperationName } from "@holdfast/contract";
import type { Handler } from "./handler.ts";
import type { OperationReconciler } from "./ports.ts";
import type { Visits } from "./visits.ts";

/** What a part of control gives to `app.ts`: its handlers, what it knows about unsettled operations, and its life. */
export interface Module {
  readonly handlers: { readonly [N in OperationName]?: Handler<N> };
  readonly reconcilers?: readonly OperationReconciler[];
  /** What gateway may ask; of one module at most. */
  readonly visits?: Visits;
  /** After migrations, before the doors open. Must not wait for anything that may be away (the supervisor): that is `ready`'s business. */
  start?(): Promise<void>;
  /** Undefined when it can serve, else what is missing, for `health`. */
  notReady?(): string | undefined;
  /** Now and then: forgets what is too old. May fail, and is called again. */
  clean?(): Promise<void>;
  /** The doors are closed and requests have ended or were aborted. */
  stop?(): Promise<void>;
}
