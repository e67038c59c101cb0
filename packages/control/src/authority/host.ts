import { ceilings, HoldfastError, limits } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { EventLog } from "../domain/events.ts";
import { sha256 } from "../lib/digest.ts";
import { findFirstOwner, insertInvitedOwner, setLoginCode } from "../store/owners.ts";
import { countAssistants, findOrCreateAssistant, insertKey, lockAccount } from "../store/principals.ts";
import { insertFinished, type FinishedRecord } from "../store/records.ts";
import type { Store } from "../store/transaction.ts";
import { loginCodeHash, newLoginCode, type NewToken } from "./tokens.ts";

/** What root on the host may do on the launcher's socket: let the first people in. Each is recorded in the change's transaction. */
export interface HostAuthority {
  /** A code for the first owner, made if there is none. For an owner who has enrolled it is the way back after a lost passphrase. */
  loginCode(): Promise<{ readonly code: string; readonly expiresAtMs: number }>;
  /** Name of the owner whom `loginCode` is for, once that one has enrolled. */
  enrolledOwner(): Promise<string | null>;
  /** The first assistant and its key. Throws `wrong_state` once there is an assistant. */
  bootstrapAssistant(name: string): Promise<string>;
}

const firstOwnerName = "owner";

export const createHostAuthority = (parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly newToken: NewToken;
  readonly events: EventLog;
  readonly accountId: string;
  readonly nodeId: string;
}): HostAuthority => {
  const { accountId } = parts;
  const record = (operation: string, target: string, startedAtMs: number): FinishedRecord => ({
    id: parts.ids("operation"),
    accountId,
    nodeId: parts.nodeId,
    operation,
    principalId: "host",
    credentialId: "root",
    source: "host launcher",
    target,
    outcome: "succeeded",
    error: null,
    inputDigest: sha256(`${operation}\n`),
    startedAtMs,
    durationMs: 0,
  });
  const event = (kind: string, target: string) => ({
    accountId,
    kind,
    target,
    computerId: null,
    visibleTo: null,
    data: {},
  });

  return {
    loginCode: () =>
      parts.store.transaction(async (transaction) => {
        const nowMs = parts.clock.now();
        await lockAccount(transaction, accountId);
        const found = await findFirstOwner(transaction, accountId);
        const ownerId = found?.id ?? parts.ids("owner");
        if (!found)
          await insertInvitedOwner(transaction, { id: ownerId, accountId, name: firstOwnerName, nowMs });
        const code = newLoginCode();
        const expiresAtMs = nowMs + limits.loginCodeMs;
        await setLoginCode(transaction, {
          ownerId,
          hash: loginCodeHash(code),
          createdBy: "host",
          expiresAtMs,
        });
        await insertFinished(transaction, [record("owner.login_code", ownerId, nowMs)]);
        await parts.events.append(transaction, event("owner.login_code", ownerId));
        return { code, expiresAtMs };
      }),
    enrolledOwner: async () => {
      const found = await parts.store.transaction((transaction) => findFirstOwner(transaction, accountId));
      return found?.state === "active" ? found.name : null;
    },
    bootstrapAssistant: (name) =>
      parts.store.transaction(async (transaction) => {
        const nowMs = parts.clock.now();
        await lockAccount(transaction, accountId);
        if ((await countAssistants(transaction, accountId)) > 0)
          throw new HoldfastError(
            "wrong_state",
            "there is an assistant already; make further keys as an owner",
            {
              state: "bootstrapped",
            },
          );
        const assistantId = await findOrCreateAssistant(transaction, {
          id: parts.ids("assistant"),
          accountId,
          name,
          nowMs,
        });
        const { token, hash } = parts.newToken("hf_");
        const id = parts.ids("key");
        const key = {
          id,
          accountId,
          tokenHash: hash,
          ceilings: ceilings.parse({}),
          createdBy: "host",
          createdAtMs: nowMs,
          expiresAtMs: null,
        };
        await insertKey(transaction, key, assistantId);
        await insertFinished(transaction, [record("assistant.bootstrap", id, nowMs)]);
        await parts.events.append(transaction, event("key.created", id));
        return token;
      }),
  };
};
