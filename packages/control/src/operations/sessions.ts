import { HoldfastError, limits } from "@holdfast/contract";
import type { NewId } from "@holdfast/kit";
import {
  codesFrom,
  confirmationsOf,
  limitAttempts,
  passphrasesFor,
  passphrasesFrom,
} from "../authority/attempts.ts";
import type { Passphrases } from "../authority/passphrase.ts";
import { loginCodeHash, type NewToken } from "../authority/tokens.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handlers, OperationContext } from "../domain/handler.ts";
import { forgetAttempts } from "../store/attempts.ts";
import {
  confirmSession,
  endSession,
  endSessionsOf,
  enrolOwner,
  findActiveOwnerByName,
  findOwner,
  findOwnerByCode,
  insertSession,
  lockOwnerWith,
  type OwnerRow,
  spendLoginCode,
  touchOwner,
} from "../store/owners.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { ownerViewOf, sessionViewOf } from "./views.ts";

interface Parts {
  readonly db: Database;
  readonly ids: NewId;
  readonly newToken: NewToken;
  readonly passphrases: Passphrases;
  readonly events: EventLog;
}

/** Signing in. Each attempt is counted before the passphrase or code is looked at, in the transaction that records it. */
export const sessionHandlers = (
  parts: Parts,
): Handlers<"session.enrol" | "session.create" | "session.get" | "session.confirm" | "session.delete"> => ({
  "session.enrol": {
    admit: async (transaction, context) => {
      await limitAttempts(transaction, [codesFrom(context.source.address)], context.startedAtMs);
      return {};
    },
    run: async (context, params) => {
      if (Buffer.from(params.public_key, "base64url").length !== 32)
        throw new HoldfastError(
          "invalid_input",
          "public_key is an Ed25519 public key: 32 bytes as base64url",
          {
            issues: [{ path: ["public_key"], message: "32 bytes" }],
          },
        );
      const codeHash = loginCodeHash(params.code);
      const owner = await findOwnerByCode(parts.db, codeHash, context.startedAtMs);
      if (!owner) throw badCode();
      const passphraseHash = await parts.passphrases.hash(params.passphrase);
      const session = newSession(parts, context, owner);
      const enrolled = {
        ...owner,
        state: "active" as const,
        public_key: params.public_key,
        last_seen_at_ms: context.startedAtMs,
      };
      return {
        output: {
          session: sessionViewOf(session, ownerViewOf(enrolled), context.startedAtMs),
          token: session.token,
        },
        target: owner.id,
        settle: async (transaction) => {
          if (!(await spendLoginCode(transaction, codeHash))) throw badCode();
          await enrolOwner(transaction, {
            id: owner.id,
            passphraseHash,
            publicKey: params.public_key,
            sealedKey: params.sealed_key,
            nowMs: context.startedAtMs,
          });
          // Enrolling anew is how root on the host gives an owner who lost the passphrase a new one: the old sessions end. After the owner's
          // row is locked, so that a sign-in is either seen here or sees the new passphrase.
          await endSessionsOf(transaction, owner.id, context.startedAtMs);
          await begin(parts, transaction, context, session, "owner.enrolled");
        },
      };
    },
  },
  "session.create": {
    admit: async (transaction, context, params) => {
      await limitAttempts(
        transaction,
        [passphrasesFrom(context.source.address), passphrasesFor(params.name)],
        context.startedAtMs,
      );
      return {};
    },
    run: async (context, params) => {
      const owner = await findActiveOwnerByName(parts.db, context.principal.accountId, params.name);
      const right = await parts.passphrases.verify(params.passphrase, owner?.passphrase_hash ?? undefined);
      if (!owner || !right) throw new HoldfastError("unauthenticated", "the name or the passphrase is wrong");
      const session = newSession(parts, context, owner);
      return {
        output: {
          session: sessionViewOf(session, ownerViewOf(owner), context.startedAtMs),
          token: session.token,
          sealed_key: owner.sealed_key ?? "",
        },
        target: owner.id,
        settle: async (transaction) => {
          // It took a while to compare it.
          if (!(await lockOwnerWith(transaction, owner.id, owner.passphrase_hash)))
            throw new HoldfastError("unauthenticated", "the passphrase was changed meanwhile");
          await begin(parts, transaction, context, session, "session.created");
        },
      };
    },
  },
  "session.get": {
    run: async (context) => ({ output: await current(parts, context, context.principal.confirmedUntilMs) }),
  },
  "session.confirm": {
    admit: async (transaction, context) => {
      const attempts = [confirmationsOf(context.principal.credentialId)];
      await limitAttempts(transaction, attempts, context.startedAtMs);
      return {};
    },
    run: async (context, params) => {
      const { principal } = context;
      const owner = await findOwner(parts.db, principal.accountId, principal.id);
      if (!(await parts.passphrases.verify(params.passphrase, owner?.passphrase_hash ?? undefined)))
        throw new HoldfastError("unauthenticated", "the passphrase is wrong");
      const untilMs = context.startedAtMs + limits.sessionConfirmedMs;
      return {
        output: await current(parts, context, untilMs),
        target: principal.id,
        settle: async (transaction) => {
          await confirmSession(transaction, principal.credentialId, untilMs);
          await forgetAttempts(transaction, [confirmationsOf(principal.credentialId).subject]);
        },
      };
    },
  },
  "session.delete": {
    run: (context) =>
      Promise.resolve({
        output: { ended: true },
        target: context.principal.id,
        settle: (transaction) => endSession(transaction, context.principal.credentialId, context.startedAtMs),
      }),
  },
});

type NewSession = ReturnType<typeof newSession>;

/** A fresh session is confirmed: the passphrase was given a moment ago. */
const newSession = (parts: Parts, context: OperationContext, owner: OwnerRow) => ({
  id: parts.ids("session"),
  owner,
  ...parts.newToken("hfs_"),
  expiresAtMs: context.startedAtMs + limits.sessionMs,
  confirmedUntilMs: context.startedAtMs + limits.sessionConfirmedMs,
});

const begin = async (
  parts: Parts,
  transaction: Transaction,
  context: OperationContext,
  session: NewSession,
  kind: string,
): Promise<void> => {
  const { owner } = session;
  await Promise.all([
    insertSession(transaction, {
      id: session.id,
      ownerId: owner.id,
      tokenHash: session.hash,
      createdAtMs: context.startedAtMs,
      expiresAtMs: session.expiresAtMs,
      confirmedUntilMs: session.confirmedUntilMs,
    }),
    touchOwner(transaction, owner.id, context.startedAtMs),
    forgetAttempts(transaction, [
      passphrasesFrom(context.source.address).subject,
      codesFrom(context.source.address).subject,
    ]),
    parts.events.append(transaction, {
      accountId: owner.account_id,
      kind,
      target: owner.id,
      computerId: null,
      visibleTo: null,
      data: { session: session.id, address: context.source.address },
    }),
  ]);
};

const current = async (parts: Parts, context: OperationContext, confirmedUntilMs: number) => {
  const { principal } = context;
  const owner = await findOwner(parts.db, principal.accountId, principal.id);
  if (!owner) throw new HoldfastError("unauthenticated", "the owner of this session is gone");
  const session = {
    id: principal.credentialId,
    expiresAtMs: principal.expiresAtMs ?? 0,
    confirmedUntilMs,
  };
  return sessionViewOf(session, ownerViewOf(owner), context.startedAtMs);
};

/** The same for each of them: nobody is to learn which codes there were. */
const badCode = (): HoldfastError =>
  new HoldfastError("code_refused", "the code is not known, was used, or has expired");
