import { HoldfastError, idPattern, limits } from "@holdfast/contract";
import type { NewId } from "@holdfast/kit";
import { loginCodeHash, newLoginCode } from "../authority/tokens.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handlers } from "../domain/handler.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { timestamp } from "../lib/timestamp.ts";
import { isUniqueViolation } from "../store/errors.ts";
import {
  countOwners,
  findOwner,
  insertInvitedOwner,
  listOwners,
  removeOwner,
  setLoginCode,
} from "../store/owners.ts";
import { lockAccount } from "../store/principals.ts";
import type { Database } from "../store/transaction.ts";
import { ownerViewOf } from "./views.ts";

export const ownerHandlers = (parts: {
  readonly db: Database;
  readonly ids: NewId;
  readonly events: EventLog;
}): Handlers<"owner.list" | "owner.invite" | "owner.remove"> => ({
  "owner.list": {
    run: async (context, params) => {
      const after = decodeCursor(params.cursor, idPattern("owner"));
      const rows = await listOwners(parts.db, context.principal.accountId, after, params.limit + 1);
      const page = pageOf(rows, params.limit, (row) => row.id);
      return { output: { owners: page.rows.map(ownerViewOf), next_cursor: page.nextCursor } };
    },
  },
  "owner.invite": {
    run: (context, params) => {
      const { accountId } = context.principal;
      const nowMs = context.startedAtMs;
      const id = parts.ids("owner");
      const code = newLoginCode();
      const expiresAtMs = nowMs + limits.loginCodeMs;
      const row = { id, name: params.name, state: "invited" as const, public_key: null };
      return Promise.resolve({
        output: {
          owner: ownerViewOf({ ...row, created_at_ms: nowMs, last_seen_at_ms: null }),
          code,
          expires_at: timestamp(expiresAtMs),
        },
        target: id,
        settle: async (transaction) => {
          await lockAccount(transaction, accountId);
          if ((await countOwners(transaction, accountId, ["invited", "active"])) >= limits.ownersPerAccount)
            throw new HoldfastError("limit_reached", "the account has as many owners as it may", {
              limit: limits.ownersPerAccount,
              counts: "owners",
            });
          try {
            await insertInvitedOwner(transaction, { id, accountId, name: params.name, nowMs });
          } catch (error) {
            if (!isUniqueViolation(error, "owners_name")) throw error;
            throw new HoldfastError(
              "name_taken",
              `there is an owner named ${JSON.stringify(params.name)} already`,
            );
          }
          await setLoginCode(transaction, {
            ownerId: id,
            hash: loginCodeHash(code),
            createdBy: context.principal.id,
            expiresAtMs,
          });
          await parts.events.append(transaction, ownerEvent(accountId, "owner.invited", id));
        },
      });
    },
  },
  "owner.remove": {
    run: async (context, params) => {
      const { accountId } = context.principal;
      const row = await findOwner(parts.db, accountId, params.owner);
      if (!row) throw new HoldfastError("not_found", `there is no owner ${params.owner}`);
      return {
        output: ownerViewOf({ ...row, state: "removed" }),
        target: row.id,
        settle: async (transaction) => {
          await lockAccount(transaction, accountId);
          const now = await findOwner(transaction, accountId, row.id);
          if (!now || now.state === "removed") return;
          if (now.state === "active" && (await countOwners(transaction, accountId, ["active"])) <= 1)
            throw new HoldfastError("wrong_state", "the last owner cannot be removed", {
              state: "last_owner",
            });
          await removeOwner(transaction, row.id, context.startedAtMs);
          await parts.events.append(transaction, ownerEvent(accountId, "owner.removed", row.id));
        },
      };
    },
  },
});

const ownerEvent = (accountId: string, kind: string, target: string) => ({
  accountId,
  kind,
  target,
  computerId: null,
  visibleTo: null,
  data: {},
});
