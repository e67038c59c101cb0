import type { Clock, NewId } from "@holdfast/kit";
import type { Passphrases } from "../authority/passphrase.ts";
import type { NewToken } from "../authority/tokens.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handlers } from "../domain/handler.ts";
import type { Module } from "../domain/module.ts";
import { timestampOrNull } from "../lib/timestamp.ts";
import { countComputers } from "../store/principals.ts";
import type { Database } from "../store/transaction.ts";
import { keyHandlers } from "./keys.ts";
import { ownerHandlers } from "./owners.ts";
import { writtenAtSettling } from "./reconcilers.ts";
import { sessionHandlers } from "./sessions.ts";

/** Who there is, who one is, and signing in. */
export const createPrincipalsModule = (parts: {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly newToken: NewToken;
  readonly passphrases: Passphrases;
  readonly events: EventLog;
}): Module => ({
  handlers: {
    ...whoami(parts.db),
    ...keyHandlers(parts),
    ...ownerHandlers(parts),
    ...sessionHandlers(parts),
  },
  reconcilers: [
    writtenAtSettling(
      "key.create",
      "key.revoke",
      "owner.invite",
      "owner.remove",
      "session.enrol",
      "session.create",
      "session.confirm",
      "session.delete",
    ),
  ],
});

const whoami = (db: Database): Handlers<"principal.get"> => ({
  "principal.get": {
    run: async ({ principal }) => ({
      output: {
        kind: principal.kind === "owner" ? ("owner" as const) : ("assistant" as const),
        id: principal.id,
        name: principal.name,
        account: principal.accountId,
        ceilings: principal.ceilings,
        computers: await countComputers(db, principal.id),
        expires_at: timestampOrNull(principal.expiresAtMs),
      },
    }),
  },
});
