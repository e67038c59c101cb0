import type { Principal } from "../domain/principal.ts";

/** Whoever calls a public operation, and whoever is not known yet. */
export const anonymousOf = (accountId: string): Principal => ({
  kind: "anonymous",
  id: "anonymous",
  accountId,
  name: "anonymous",
  ceilings: null,
  credentialId: "none",
  expiresAtMs: null,
  confirmedUntilMs: 0,
});
