import type { ceilings } from "@holdfast/contract";
import type { z } from "zod";

/** What a key may do at most. Owners have none. */
export type Ceilings = z.output<typeof ceilings>;

/** Who asks. Made by `authority/` from a credential; nothing else may make one. */
export interface Principal {
  readonly kind: "owner" | "assistant" | "anonymous" | "host";
  /** `own_…`, `asst_…`, `anonymous` (public operations only) or `host` (root on the launcher's socket). */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly ceilings: Ceilings | null;
  /** The key (`key_…`) or session (`ses_…`) it came with. */
  readonly credentialId: string;
  /** Unix milliseconds; null when the credential does not expire. */
  readonly expiresAtMs: number | null;
  /** Until when an owner's session counts as confirmed; 0 when it does not. */
  readonly confirmedUntilMs: number;
}

/** What a door found on a request. A cookie counts only after the door's same-origin check. */
export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "cookie"; readonly token: string };

/** Where a request came from; for rate limits of sign-in and for records. */
export interface Source {
  readonly door: "http" | "mcp" | "host";
  readonly address: string;
}
