import type { Generated } from "kysely";

/** Owned by `visits/`. What the columns mean stands in `migrations/0021_visits.sql`. */
export interface VisitTables {
  tickets: {
    token_hash: Buffer;
    project_id: string;
    session_id: string;
    expires_at_ms: number;
  };
  shares: {
    id: string;
    project_id: string;
    label: string;
    token_hash: Buffer;
    created_by: string;
    created_at_ms: number;
    expires_at_ms: number;
    revoked_at_ms: number | null;
  };
  visit_sessions: {
    id: string;
    project_id: string;
    token_hash: Buffer;
    session_id: string | null;
    share_id: string | null;
    created_at_ms: number;
    expires_at_ms: number;
  };
  visitor_wakes: { project_id: string; day: number; wakes: number };
  access_records: {
    id: Generated<number>;
    project_id: string;
    at_ms: number;
    port: number | null;
    method: string;
    path: string;
    status: number;
    received_bytes: number;
    sent_bytes: number;
    duration_ms: number;
    subject: string | null;
  };
}
