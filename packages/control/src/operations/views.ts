import type { OperationOutput } from "@holdfast/contract";
import { sha256 } from "../lib/digest.ts";
import { timestamp, timestampOrNull } from "../lib/timestamp.ts";
import type { OwnerRow } from "../store/owners.ts";
import type { KeyRow } from "../store/principals.ts";
import type { listRecords } from "../store/records.ts";

type KeyView = OperationOutput<"key.revoke">;
type OwnerView = OperationOutput<"owner.remove">;
type RecordView = OperationOutput<"record.list">["records"][number];

export const keyViewOf = (row: KeyRow, nowMs: number): KeyView => ({
  id: row.id,
  name: row.name,
  assistant: row.assistant_id,
  ceilings: row.ceilings,
  state: keyState(row, nowMs),
  created_by: row.created_by,
  created_at: timestamp(row.created_at_ms),
  expires_at: timestampOrNull(row.expires_at_ms),
  revoked_at: timestampOrNull(row.revoked_at_ms),
  last_used_at: timestampOrNull(row.last_used_at_ms),
});

const keyState = (row: KeyRow, nowMs: number): KeyView["state"] => {
  if (row.revoked_at_ms !== null) return "revoked";
  return row.expires_at_ms !== null && row.expires_at_ms <= nowMs ? "expired" : "active";
};

export const ownerViewOf = (
  row: Pick<OwnerRow, "id" | "name" | "state" | "public_key" | "created_at_ms" | "last_seen_at_ms">,
): OwnerView => ({
  id: row.id,
  name: row.name,
  state: row.state,
  key_fingerprint:
    row.public_key === null ? null : sha256(Buffer.from(row.public_key, "base64url")).toString("base64url"),
  created_at: timestamp(row.created_at_ms),
  last_seen_at: timestampOrNull(row.last_seen_at_ms),
});

export const sessionViewOf = (
  session: { readonly id: string; readonly expiresAtMs: number; readonly confirmedUntilMs: number },
  owner: OwnerView,
  nowMs: number,
): OperationOutput<"session.get"> => ({
  id: session.id,
  owner,
  expires_at: timestamp(session.expiresAtMs),
  confirmed_until: session.confirmedUntilMs > nowMs ? timestamp(session.confirmedUntilMs) : null,
});

export const recordViewOf = (row: Awaited<ReturnType<typeof listRecords>>[number]): RecordView => ({
  id: row.id,
  operation: row.operation,
  principal: row.principal_id,
  target: row.target,
  outcome: row.outcome,
  error: row.error,
  input_digest: row.input_digest.toString("hex"),
  started_at: timestamp(row.started_at_ms),
  duration_ms: row.duration_ms,
});
