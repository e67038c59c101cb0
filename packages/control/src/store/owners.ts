import type { Selectable } from "kysely";
import { announceCredential } from "./principals.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type OwnerRow = Selectable<Tables["owners"]>;

/** The one account of this instance, made at the first start. */
export const ensureAccount = async (
  db: Database,
  account: { readonly id: string; readonly name: string; readonly nowMs: number },
): Promise<string> => {
  const found = await db.selectFrom("accounts").select("id").orderBy("id").limit(1).executeTakeFirst();
  if (found) return found.id;
  await db
    .insertInto("accounts")
    .values({ id: account.id, name: account.name, created_at_ms: account.nowMs })
    .execute();
  return account.id;
};

export const registerNode = async (
  db: Database,
  node: { readonly id: string; readonly name: string; readonly nowMs: number },
): Promise<void> => {
  await db
    .insertInto("nodes")
    .values({ id: node.id, name: node.name, seen_at_ms: node.nowMs })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ name: node.name, seen_at_ms: node.nowMs }))
    .execute();
};

export const findOwner = (db: Database | Transaction, accountId: string, id: string) =>
  db
    .selectFrom("owners")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();

export const findActiveOwnerByName = (db: Database, accountId: string, name: string) =>
  db
    .selectFrom("owners")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("name", "=", name)
    .where("state", "=", "active")
    .executeTakeFirst();

/** Locks the owner's row until the transaction ends. False when the owner was removed or has another passphrase by now. */
export const lockOwnerWith = async (
  transaction: Transaction,
  id: string,
  passphraseHash: string | null,
): Promise<boolean> => {
  const row = await transaction
    .selectFrom("owners")
    .select("id")
    .where("id", "=", id)
    .where("state", "=", "active")
    .where("passphrase_hash", "is not distinct from", passphraseHash)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
};

/** The first owner that was not removed: whom root on the host signs in as. */
export const findFirstOwner = (db: Database | Transaction, accountId: string) =>
  db
    .selectFrom("owners")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("state", "<>", "removed")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();

export const listOwners = (db: Database, accountId: string, after: string | undefined, limit: number) => {
  const query = db.selectFrom("owners").selectAll().where("account_id", "=", accountId);
  return (after === undefined ? query : query.where("id", ">", after)).orderBy("id").limit(limit).execute();
};

/** Call with the account locked. */
export const countOwners = async (
  transaction: Transaction,
  accountId: string,
  states: readonly OwnerRow["state"][],
): Promise<number> => {
  const { count } = await transaction
    .selectFrom("owners")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("state", "in", states)
    .executeTakeFirstOrThrow();
  return count;
};

/** Throws the unique violation `owners_name` when the name is in use. */
export const insertInvitedOwner = async (
  transaction: Transaction,
  owner: { readonly id: string; readonly accountId: string; readonly name: string; readonly nowMs: number },
): Promise<void> => {
  await transaction
    .insertInto("owners")
    .values({
      id: owner.id,
      account_id: owner.accountId,
      name: owner.name,
      state: "invited",
      passphrase_hash: null,
      public_key: null,
      sealed_key: null,
      created_at_ms: owner.nowMs,
      last_seen_at_ms: null,
      removed_at_ms: null,
    })
    .execute();
};

/** Voids the owner's code before it. */
export const setLoginCode = async (
  transaction: Transaction,
  code: {
    readonly ownerId: string;
    readonly hash: Buffer;
    readonly createdBy: string;
    readonly expiresAtMs: number;
  },
): Promise<void> => {
  const fresh = { code_hash: code.hash, created_by: code.createdBy, expires_at_ms: code.expiresAtMs };
  await transaction
    .insertInto("login_codes")
    .values({ owner_id: code.ownerId, ...fresh })
    .onConflict((conflict) => conflict.column("owner_id").doUpdateSet(fresh))
    .execute();
};

/** The owner a code is for, while the code is good. */
export const findOwnerByCode = (db: Database, codeHash: Buffer, nowMs: number) =>
  db
    .selectFrom("login_codes")
    .innerJoin("owners", "owners.id", "login_codes.owner_id")
    .selectAll("owners")
    .where("login_codes.code_hash", "=", codeHash)
    .where("login_codes.expires_at_ms", ">", nowMs)
    .where("owners.state", "<>", "removed")
    .executeTakeFirst();

/** False when the code was used or replaced in the meantime. */
export const spendLoginCode = async (transaction: Transaction, codeHash: Buffer): Promise<boolean> => {
  const result = await transaction
    .deleteFrom("login_codes")
    .where("code_hash", "=", codeHash)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
};

export const enrolOwner = async (
  transaction: Transaction,
  owner: {
    readonly id: string;
    readonly passphraseHash: string;
    readonly publicKey: string;
    readonly sealedKey: string;
    readonly nowMs: number;
  },
): Promise<void> => {
  await transaction
    .updateTable("owners")
    .set({
      state: "active",
      passphrase_hash: owner.passphraseHash,
      public_key: owner.publicKey,
      sealed_key: owner.sealedKey,
      last_seen_at_ms: owner.nowMs,
    })
    .where("id", "=", owner.id)
    .where("state", "<>", "removed")
    .execute();
};

export const removeOwner = async (transaction: Transaction, id: string, nowMs: number): Promise<void> => {
  await Promise.all([
    transaction
      .updateTable("owners")
      .set({ state: "removed", removed_at_ms: nowMs })
      .where("id", "=", id)
      .where("state", "<>", "removed")
      .execute(),
    transaction.deleteFrom("login_codes").where("owner_id", "=", id).execute(),
    endSessionsOf(transaction, id, nowMs),
  ]);
};

export const insertSession = async (
  transaction: Transaction,
  session: {
    readonly id: string;
    readonly ownerId: string;
    readonly tokenHash: Buffer;
    readonly createdAtMs: number;
    readonly expiresAtMs: number;
    readonly confirmedUntilMs: number;
  },
): Promise<void> => {
  await transaction
    .insertInto("sessions")
    .values({
      id: session.id,
      owner_id: session.ownerId,
      token_hash: session.tokenHash,
      created_at_ms: session.createdAtMs,
      expires_at_ms: session.expiresAtMs,
      confirmed_until_ms: session.confirmedUntilMs,
      ended_at_ms: null,
    })
    .execute();
};

export const confirmSession = async (
  transaction: Transaction,
  id: string,
  untilMs: number,
): Promise<void> => {
  await Promise.all([
    transaction
      .updateTable("sessions")
      .set({ confirmed_until_ms: untilMs })
      .where("id", "=", id)
      .where("ended_at_ms", "is", null)
      .execute(),
    announceCredential(transaction, id),
  ]);
};

export const endSession = async (transaction: Transaction, id: string, nowMs: number): Promise<void> => {
  await Promise.all([
    transaction
      .updateTable("sessions")
      .set({ ended_at_ms: nowMs })
      .where("id", "=", id)
      .where("ended_at_ms", "is", null)
      .execute(),
    announceCredential(transaction, id),
  ]);
};

export const endSessionsOf = async (
  transaction: Transaction,
  ownerId: string,
  nowMs: number,
): Promise<void> => {
  await Promise.all([
    transaction
      .updateTable("sessions")
      .set({ ended_at_ms: nowMs })
      .where("owner_id", "=", ownerId)
      .where("ended_at_ms", "is", null)
      .execute(),
    announceCredential(transaction, "*"),
  ]);
};

export const touchOwner = async (transaction: Transaction, id: string, nowMs: number): Promise<void> => {
  await transaction.updateTable("owners").set({ last_seen_at_ms: nowMs }).where("id", "=", id).execute();
};

export const deleteOldSessions = async (db: Database, expiredBeforeMs: number): Promise<void> => {
  await db.deleteFrom("sessions").where("expires_at_ms", "<", expiredBeforeMs).execute();
};
