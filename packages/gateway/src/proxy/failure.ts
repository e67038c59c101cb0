/** Why a visit that was let in gets no answer of the app. The door makes a page of it. */
export type Failure =
  /** The computer or its service comes up; worth another try. */
  | { readonly kind: "starting"; readonly retryAfterMs: number }
  /** The service ends whenever it is started. `log` is for owners alone. */
  | { readonly kind: "crashed"; readonly reason: string | null; readonly log: string | null }
  /** Visitors have started it as often as they may today. */
  | { readonly kind: "not_today" }
  /** The project has no web service. */
  | { readonly kind: "no_service" }
  /** Nothing listens on the port that was asked for. */
  | { readonly kind: "no_listener" }
  /** A part of ours does not answer. */
  | { readonly kind: "unavailable" }
  /** More visits than may be are under way. */
  | { readonly kind: "crowded" }
  /** The app said what cannot be passed on, or hung up without an answer. */
  | { readonly kind: "bad_answer"; readonly why: string }
  /** The app did not answer in time. */
  | { readonly kind: "late" }
  /** The visitor's body is malformed, or does not come. */
  | { readonly kind: "malformed_body" }
  | { readonly kind: "slow_body" };
