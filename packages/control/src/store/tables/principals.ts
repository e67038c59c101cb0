import type { Generated } from "kysely";
import type { Ceilings } from "../../domain/principal.ts";

/** Times are Unix milliseconds in `bigint` columns: the injected clock's, exact, and free of session time zones. */
export interface PrincipalTables {
  accounts: { id: string; name: string; created_at_ms: number };
  nodes: { id: string; name: string; seen_at_ms: number };
  owners: {
    id: string;
    account_id: string;
    name: string;
    state: "invited" | "active" | "removed";
    passphrase_hash: string | null;
    public_key: string | null;
    sealed_key: string | null;
    created_at_ms: number;
    last_seen_at_ms: number | null;
    removed_at_ms: number | null;
  };
  login_codes: {
    owner_id: string;
    code_hash: Buffer;
    created_by: string;
    expires_at_ms: number;
  };
  sessions: {
    id: string;
    token_hash: Buffer;
    owner_id: string;
    created_at_ms: number;
    expires_at_ms: number;
    confirmed_until_ms: number;
    ended_at_ms: number | null;
  };
  assistants: {
    id: string;
    account_id: string;
    name: string;
    created_at_ms: number;
    /** Of a child's helper: see `migrations/0032_snapshots.sql`. */
    child_id: Generated<string | null>;
  };
  keys: {
    id: string;
    account_id: string;
    assistant_id: string;
    token_hash: Buffer;
    ceilings: Ceilings;
    created_by: string;
    created_at_ms: number;
    expires_at_ms: number | null;
    revoked_at_ms: number | null;
    last_used_at_ms: number | null;
    delegated_by: Generated<string | null>;
  };
  login_attempts: { subject: string; window_start_ms: number; attempts: number };
}
