import { HoldfastError, limits } from "@holdfast/contract";
import { type Clock, networkOf, Recent } from "@holdfast/kit";
import type { Ceilings, Credential, Principal, Source } from "../domain/principal.ts";
import { sha256 } from "../lib/digest.ts";
import {
  credentialsChannel,
  findKeyByHash,
  findSessionByHash,
  findStanding,
  touchKeys,
} from "../store/principals.ts";
import type { Listener } from "../store/listener.ts";
import type { Database } from "../store/transaction.ts";
import { createStrangers } from "./strangers.ts";
import { tokenKind } from "./tokens.ts";

/** What of a credential may change while it is good. */
export interface Standing {
  readonly ceilings: Ceilings | null;
}

export interface Authority {
  /** Throws `unauthenticated`; `rate_limited` when too many unknown credentials came from there; `unavailable` without the database. */
  identify(credential: Credential, source: Source): Promise<Principal>;
  /** Of these credentials, those that are still good; asks the database. */
  standing(credentialIds: readonly string[]): Promise<ReadonlyMap<string, Standing>>;
  /** Calls back when some credential ended somewhere, or that may have been missed. */
  onChange(callback: () => void): void;
  /** Writes down when keys were last used. */
  flushUses(): Promise<void>;
}

const rememberedTokens = 10_000;

/**
 * Turns credentials into principals. An answer is kept for at most `keyCacheMs` and dropped at once when a credential ends anywhere, so a
 * request costs no statement while its key is warm and a revoked key is refused within that time even if the notification is lost. A session
 * that is not confirmed is searched for each time. Strangers are counted by network.
 */
export const createAuthority = (parts: {
  readonly db: Database;
  readonly clock: Clock;
  readonly listener: Listener;
}): Authority => {
  const cache = new Recent<string, { readonly principal: Principal; readonly loadedAt: number }>(
    rememberedTokens,
  );
  const uses = new Map<string, number>();
  const strangers = createStrangers(parts.clock, {
    what: "keys or sessions came from this network",
  });
  parts.listener.on(credentialsChannel, () => cache.clear());

  const find = async (token: string, network: string): Promise<Principal | undefined> => {
    const kept = cache.get(token);
    // Measured from before the statement: what it read may be that old.
    const loadedAt = parts.clock.monotonic();
    if (kept && loadedAt - kept.loadedAt < limits.keyCacheMs && !mayBeConfirmed(kept.principal))
      return kept.principal;
    const hash = sha256(token);
    const principal = await strangers.meet(hash.toString("base64"), network, () =>
      load(parts.db, token, hash),
    );
    if (!principal) {
      cache.delete(token);
      return undefined;
    }
    cache.set(token, { principal, loadedAt });
    return principal;
  };

  /** It was not, and may be by now: the answer that says so can be back before the notice is here. */
  const mayBeConfirmed = ({ kind, confirmedUntilMs }: Principal): boolean =>
    kind === "owner" && confirmedUntilMs <= parts.clock.now();

  return {
    identify: async (credential, source) => {
      if (credential.kind === "none") throw unauthenticated("the request carries no key and no session");
      const kind = tokenKind(credential.token);
      if (kind === undefined || (credential.kind === "cookie" && kind !== "session"))
        throw unauthenticated("the credential has not the form of a key or session");
      const principal = await find(credential.token, networkOf(source.address));
      const now = parts.clock.now();
      if (!principal) throw unauthenticated("the key or session is not known, or was ended");
      if (principal.expiresAtMs !== null && principal.expiresAtMs <= now)
        throw unauthenticated("the key or session has expired");
      if (kind === "key") uses.set(principal.credentialId, now);
      return principal;
    },
    standing: (credentialIds) => findStanding(parts.db, credentialIds, parts.clock.now()),
    onChange: (callback) => parts.listener.on(credentialsChannel, callback),
    flushUses: async () => {
      if (uses.size === 0) return;
      const written = new Map(uses);
      uses.clear();
      await touchKeys(parts.db, written);
    },
  };
};

const load = async (db: Database, token: string, hash: Buffer): Promise<Principal | undefined> => {
  if (tokenKind(token) === "key") {
    const row = await findKeyByHash(db, hash);
    return (
      row && {
        ...common(row),
        kind: "assistant",
        id: row.assistant_id,
        ceilings: row.ceilings,
        confirmedUntilMs: 0,
      }
    );
  }
  const row = await findSessionByHash(db, hash);
  return (
    row && {
      ...common(row),
      kind: "owner",
      id: row.owner_id,
      ceilings: null,
      confirmedUntilMs: row.confirmed_until_ms,
    }
  );
};

const common = (row: {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly expires_at_ms: number | null;
}) => ({
  accountId: row.account_id,
  name: row.name,
  credentialId: row.id,
  expiresAtMs: row.expires_at_ms,
});

const unauthenticated = (message: string): HoldfastError => new HoldfastError("unauthenticated", message);
