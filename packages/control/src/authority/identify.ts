import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Credential, Principal } from "../domain/principal.ts";
import { sha256 } from "../lib/digest.ts";
import {
  credentialsChannel,
  findKeyByHash,
  findSessionByHash,
  findValidCredentials,
  touchKeys,
} from "../store/principals.ts";
import type { Listener } from "../store/listener.ts";
import type { Database } from "../store/transaction.ts";
import { tokenKind } from "./tokens.ts";

export interface Authority {
  /** Throws `unauthenticated`. */
  identify(credential: Credential): Promise<Principal>;
  /** Of these credentials, those that are still good; asks the database. */
  stillValid(credentialIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Writes down when keys were last used. */
  flushUses(): Promise<void>;
}

const cacheLimit = 2000;

/**
 * Turns credentials into principals. An answer is kept for at most `keyCacheMs` and dropped at once when a credential ends anywhere, so a
 * request costs no statement while its key is warm and a revoked key is refused within that time even if the notification is lost.
 */
export const createAuthority = (parts: {
  readonly db: Database;
  readonly clock: Clock;
  readonly listener: Listener;
}): Authority => {
  const cache = new Map<string, { readonly principal: Principal; readonly loadedAt: number }>();
  const uses = new Map<string, number>();
  parts.listener.on(credentialsChannel, () => cache.clear());

  const load = async (token: string): Promise<Principal | undefined> => {
    const hash = sha256(token);
    if (tokenKind(token) === "key") {
      const row = await findKeyByHash(parts.db, hash);
      return (
        row && {
          kind: "assistant",
          id: row.assistant_id,
          accountId: row.account_id,
          name: row.name,
          ceilings: row.ceilings,
          credentialId: row.id,
          expiresAtMs: row.expires_at_ms,
          confirmedUntilMs: 0,
        }
      );
    }
    const row = await findSessionByHash(parts.db, hash);
    return (
      row && {
        kind: "owner",
        id: row.owner_id,
        accountId: row.account_id,
        name: row.name,
        ceilings: null,
        credentialId: row.id,
        expiresAtMs: row.expires_at_ms,
        confirmedUntilMs: row.confirmed_until_ms,
      }
    );
  };

  const find = async (token: string): Promise<Principal | undefined> => {
    const kept = cache.get(token);
    // Measured from before the statement: what it read may be that old.
    const loadedAt = parts.clock.monotonic();
    if (kept && loadedAt - kept.loadedAt < limits.keyCacheMs) return kept.principal;
    const principal = await load(token);
    cache.delete(token);
    if (!principal) return undefined;
    if (cache.size >= cacheLimit) cache.clear();
    cache.set(token, { principal, loadedAt });
    return principal;
  };

  return {
    identify: async (credential) => {
      if (credential.kind === "none") throw unauthenticated("the request carries no key and no session");
      const kind = tokenKind(credential.token);
      if (kind === undefined || (credential.kind === "cookie" && kind !== "session"))
        throw unauthenticated("the credential has not the form of a key or session");
      const principal = await find(credential.token);
      const now = parts.clock.now();
      if (!principal) throw unauthenticated("the key or session is not known, or was ended");
      if (principal.expiresAtMs !== null && principal.expiresAtMs <= now)
        throw unauthenticated("the key or session has expired");
      if (kind === "key") uses.set(principal.credentialId, now);
      return principal;
    },
    stillValid: (credentialIds) => findValidCredentials(parts.db, credentialIds, parts.clock.now()),
    flushUses: async () => {
      if (uses.size === 0) return;
      const written = new Map(uses);
      uses.clear();
      await touchKeys(parts.db, written);
    },
  };
};

const unauthenticated = (message: string): HoldfastError => new HoldfastError("unauthenticated", message);
