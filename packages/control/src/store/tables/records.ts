import type { Generated } from "kysely";

export interface RecordTables {
  operations: {
    id: string;
    account_id: string;
    node_id: string;
    operation: string;
    principal_id: string;
    credential_id: string;
    source: string;
    target: string | null;
    outcome: "running" | "succeeded" | "failed" | "refused" | "unknown";
    error: string | null;
    input_digest: Buffer;
    started_at_ms: number;
    duration_ms: number | null;
  };
  idempotency_keys: {
    principal_id: string;
    operation: string;
    key: string;
    input_digest: Buffer;
    operation_id: string;
    /** `running` until the outcome is recorded. */
    state: "running" | "succeeded" | "failed" | "unknown";
    target: string | null;
    output: Readonly<Record<string, unknown>> | null;
    error: { readonly code: string; readonly message: string; readonly details: unknown } | null;
    expires_at_ms: number;
  };
  events: {
    id: Generated<number>;
    /** Null until the change is committed and a number was given. */
    number: Generated<number | null>;
    account_id: string;
    kind: string;
    target: string | null;
    computer_id: string | null;
    visible_to: string | null;
    at_ms: number;
    data: Readonly<Record<string, unknown>>;
  };
}
