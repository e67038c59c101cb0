import { HoldfastError, idPattern, limits } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { NewToken } from "../authority/tokens.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handlers } from "../domain/handler.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import {
  countActiveKeys,
  findAssistant,
  findKeyById,
  findOrCreateAssistant,
  insertKey,
  listKeys,
  lockAccount,
  revokeKey,
} from "../store/principals.ts";
import type { Database } from "../store/transaction.ts";
import { keyViewOf } from "./views.ts";

/** Assistants' keys. Everything is written while settling, so an operation without an outcome did nothing. */
export const keyHandlers = (parts: {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly newToken: NewToken;
  readonly events: EventLog;
}): Handlers<"key.create" | "key.list" | "key.revoke"> => ({
  "key.create": {
    sealsOutput: true,
    run: async (context, params) => {
      const { accountId } = context.principal;
      const assistantId = (await findAssistant(parts.db, accountId, params.name)) ?? parts.ids("assistant");
      const { token, hash } = parts.newToken("hf_");
      const nowMs = context.startedAtMs;
      const expiresAtMs = params.expires_in_ms === undefined ? null : nowMs + params.expires_in_ms;
      const id = parts.ids("key");
      const row = {
        id,
        name: params.name,
        assistant_id: assistantId,
        ceilings: params.ceilings,
        created_by: context.principal.id,
        created_at_ms: nowMs,
        expires_at_ms: expiresAtMs,
        revoked_at_ms: null,
        last_used_at_ms: null,
      };
      return {
        output: { key: keyViewOf(row, nowMs), secret: token },
        target: id,
        settle: async (transaction) => {
          await lockAccount(transaction, accountId);
          if ((await countActiveKeys(transaction, accountId, nowMs)) >= limits.keysPerAccount)
            throw new HoldfastError("limit_reached", "the account has as many keys as it may", {
              limit: limits.keysPerAccount,
              counts: "keys",
            });
          const assistant = { id: assistantId, accountId, name: params.name, nowMs };
          if ((await findOrCreateAssistant(transaction, assistant)) !== assistantId)
            throw new HoldfastError(
              "unavailable",
              "the assistant was made by another request at this moment",
            );
          const key = {
            id,
            accountId,
            tokenHash: hash,
            ceilings: params.ceilings,
            createdBy: context.principal.id,
            createdAtMs: nowMs,
            expiresAtMs,
          };
          await Promise.all([
            insertKey(transaction, key, assistantId),
            parts.events.append(transaction, {
              accountId,
              kind: "key.created",
              target: id,
              computerId: null,
              visibleTo: null,
              data: { name: params.name },
            }),
          ]);
        },
      };
    },
  },
  "key.list": {
    run: async (context, params) => {
      const before = decodeCursor(params.cursor, idPattern("key"));
      const rows = await listKeys(parts.db, context.principal.accountId, before, params.limit + 1);
      const page = pageOf(rows, params.limit, (row) => row.id);
      return {
        output: {
          keys: page.rows.map((row) => keyViewOf(row, context.startedAtMs)),
          next_cursor: page.nextCursor,
        },
      };
    },
  },
  "key.revoke": {
    run: async (context, params) => {
      const { accountId } = context.principal;
      const row = await findKeyById(parts.db, accountId, params.key);
      if (!row) throw new HoldfastError("not_found", `there is no key ${params.key}`);
      const revokedAtMs = row.revoked_at_ms ?? context.startedAtMs;
      return {
        output: keyViewOf({ ...row, revoked_at_ms: revokedAtMs }, context.startedAtMs),
        target: row.id,
        settle: async (transaction) => {
          if (row.revoked_at_ms !== null) return;
          await Promise.all([
            revokeKey(transaction, row.id, revokedAtMs),
            parts.events.append(transaction, {
              accountId,
              kind: "key.revoked",
              target: row.id,
              computerId: null,
              visibleTo: null,
              data: { name: row.name },
            }),
          ]);
        },
      };
    },
  },
});
