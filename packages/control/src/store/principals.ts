import { sql } from "kysely";
import type { Ceilings } from "../domain/principal.ts";
import type { Database, Transaction } from "./transaction.ts";

/** Says that a credential ended: every control forgets what it cached. */
export const credentialsChannel = "holdfast_credentials";

export const announceCredential = (transaction: Transaction, credentialId: string): Promise<unknown> =>
  sql`select pg_notify(${credentialsChannel}, ${credentialId})`.execute(transaction);

/** A helper is good for nothing once its child is destroyed or has become its parent's own. */
const isUseful = sql<boolean>`(assistants.child_id is null or exists (
  select 1 from computers where computers.id = assistants.child_id
    and computers.principal_id = assistants.id and computers.desired_state <> 'destroyed'))`;

/** The key with this hash, unless revoked. Expiry is the caller's to judge, on its clock. */
export const findKeyByHash = (db: Database, tokenHash: Buffer) =>
  db
    .selectFrom("keys")
    .innerJoin("assistants", "assistants.id", "keys.assistant_id")
    .select([
      "keys.id",
      "keys.account_id",
      "keys.assistant_id",
      "keys.ceilings",
      "keys.expires_at_ms",
      "assistants.name",
    ])
    .where("keys.token_hash", "=", tokenHash)
    .where("keys.revoked_at_ms", "is", null)
    .where(isUseful)
    .executeTakeFirst();

/** The session with this hash, unless ended or its owner removed. */
export const findSessionByHash = (db: Database, tokenHash: Buffer) =>
  db
    .selectFrom("sessions")
    .innerJoin("owners", "owners.id", "sessions.owner_id")
    .select([
      "sessions.id",
      "sessions.owner_id",
      "sessions.expires_at_ms",
      "sessions.confirmed_until_ms",
      "owners.account_id",
      "owners.name",
    ])
    .where("sessions.token_hash", "=", tokenHash)
    .where("sessions.ended_at_ms", "is", null)
    .where("owners.state", "=", "active")
    .executeTakeFirst();

/** Of these credentials, those that are still good, with the ceilings they have now. */
export const findStanding = async (
  db: Database,
  credentialIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, { readonly ceilings: Ceilings | null }>> => {
  const keys = db
    .selectFrom("keys")
    .innerJoin("assistants", "assistants.id", "keys.assistant_id")
    .select(["keys.id", sql<Ceilings | null>`keys.ceilings`.as("ceilings")])
    .where("keys.id", "in", credentialIds)
    .where("revoked_at_ms", "is", null)
    .where((where) => where.or([where("expires_at_ms", "is", null), where("expires_at_ms", ">", nowMs)]))
    .where(isUseful);
  const sessions = db
    .selectFrom("sessions")
    .innerJoin("owners", "owners.id", "sessions.owner_id")
    .select(["sessions.id", sql<Ceilings | null>`null`.as("ceilings")])
    .where("sessions.id", "in", credentialIds)
    .where("sessions.ended_at_ms", "is", null)
    .where("sessions.expires_at_ms", ">", nowMs)
    .where("owners.state", "=", "active");
  const rows = await keys.unionAll(sessions).execute();
  return new Map(rows.map(({ id, ceilings }) => [id, { ceilings }]));
};

/** `nowMs` by key id; only moves forward. */
export const touchKeys = async (db: Database, used: ReadonlyMap<string, number>): Promise<void> => {
  await sql`
    update keys set last_used_at_ms = greatest(coalesce(last_used_at_ms, 0), used.at)
    from unnest(${[...used.keys()]}::text[], ${[...used.values()]}::bigint[]) as used (id, at)
    where keys.id = used.id`.execute(db);
};

export interface NewKey {
  readonly id: string;
  readonly accountId: string;
  readonly tokenHash: Buffer;
  readonly ceilings: Ceilings;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** The key that it was given out under, and ends with. */
  readonly delegatedBy?: string | null;
}

export const findAssistant = async (
  db: Database,
  accountId: string,
  name: string,
): Promise<string | undefined> =>
  (
    await db
      .selectFrom("assistants")
      .select("id")
      .where("account_id", "=", accountId)
      .where("name", "=", name)
      .executeTakeFirst()
  )?.id;

/** The assistant of this name, made if there is none. */
export const findOrCreateAssistant = async (
  transaction: Transaction,
  assistant: {
    readonly id: string;
    readonly accountId: string;
    readonly name: string;
    readonly nowMs: number;
  },
): Promise<string> => {
  const { id } = await transaction
    .insertInto("assistants")
    .values({
      id: assistant.id,
      account_id: assistant.accountId,
      name: assistant.name,
      created_at_ms: assistant.nowMs,
    })
    // Changes nothing, but makes `returning` answer the row that is there, locked.
    .onConflict((conflict) => conflict.columns(["account_id", "name"]).doUpdateSet({ name: assistant.name }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
};

export const countAssistants = async (transaction: Transaction, accountId: string): Promise<number> => {
  const { count } = await transaction
    .selectFrom("assistants")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return count;
};

export const insertKey = async (
  transaction: Transaction,
  key: NewKey,
  assistantId: string,
): Promise<void> => {
  await transaction
    .insertInto("keys")
    .values({
      id: key.id,
      account_id: key.accountId,
      assistant_id: assistantId,
      token_hash: key.tokenHash,
      ceilings: JSON.stringify(key.ceilings) as unknown as Ceilings,
      created_by: key.createdBy,
      created_at_ms: key.createdAtMs,
      expires_at_ms: key.expiresAtMs,
      revoked_at_ms: null,
      last_used_at_ms: null,
      delegated_by: key.delegatedBy ?? null,
    })
    .execute();
};

/** An assistant for one child, which it owns; its computer's row is there already. */
export const insertHelper = async (
  transaction: Transaction,
  helper: {
    readonly id: string;
    readonly accountId: string;
    readonly name: string;
    readonly childId: string;
    readonly nowMs: number;
  },
): Promise<void> => {
  await transaction
    .insertInto("assistants")
    .values({
      id: helper.id,
      account_id: helper.accountId,
      name: helper.name,
      child_id: helper.childId,
      created_at_ms: helper.nowMs,
    })
    .execute();
};

/** Keys of helpers whose child is not theirs any more, that nobody has revoked yet. */
export const listUselessKeys = async (db: Database, limit: number): Promise<readonly string[]> =>
  (
    await db
      .selectFrom("keys")
      .innerJoin("assistants", "assistants.id", "keys.assistant_id")
      .select("keys.id")
      .where("assistants.child_id", "is not", null)
      .where("keys.revoked_at_ms", "is", null)
      .where(sql<boolean>`not ${isUseful}`)
      .limit(limit)
      .execute()
  ).map(({ id }) => id);

const keysWithNames = (db: Database) =>
  db
    .selectFrom("keys")
    .innerJoin("assistants", "assistants.id", "keys.assistant_id")
    .select([
      "keys.id",
      "keys.assistant_id",
      "keys.ceilings",
      "keys.created_by",
      "keys.created_at_ms",
      "keys.expires_at_ms",
      "keys.revoked_at_ms",
      "keys.last_used_at_ms",
      "assistants.name",
    ]);

export type KeyRow = Awaited<ReturnType<typeof listKeys>>[number];

/** Newest first. */
export const listKeys = (db: Database, accountId: string, before: string | undefined, limit: number) => {
  const query = keysWithNames(db).where("keys.account_id", "=", accountId);
  return (before === undefined ? query : query.where("keys.id", "<", before))
    .orderBy("keys.id", "desc")
    .limit(limit)
    .execute();
};

export const findKeyById = (db: Database, accountId: string, id: string) =>
  keysWithNames(db).where("keys.account_id", "=", accountId).where("keys.id", "=", id).executeTakeFirst();

export const countActiveKeys = async (
  transaction: Transaction,
  accountId: string,
  nowMs: number,
): Promise<number> => {
  const { count } = await transaction
    .selectFrom("keys")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("revoked_at_ms", "is", null)
    .where((where) => where.or([where("expires_at_ms", "is", null), where("expires_at_ms", ">", nowMs)]))
    .executeTakeFirstOrThrow();
  return count;
};

/** And the keys that were given out under it. */
export const revokeKey = async (transaction: Transaction, id: string, nowMs: number): Promise<void> => {
  const revoked = await transaction
    .updateTable("keys")
    .set({ revoked_at_ms: nowMs })
    .where((where) => where.or([where("id", "=", id), where("delegated_by", "=", id)]))
    .where("revoked_at_ms", "is", null)
    .returning("id")
    .execute();
  await Promise.all(revoked.map((key) => announceCredential(transaction, key.id)));
};

/** The widest that an assistant's good keys allow, each ceiling by itself. Null for who has none: owners, and whose keys have all ended. */
export const heldCeilings = async (
  db: Transaction,
  principalId: string,
  nowMs: number,
): Promise<Ceilings | null> => {
  const rows = await db
    .selectFrom("keys")
    .select("ceilings")
    .where("assistant_id", "=", principalId)
    .where("revoked_at_ms", "is", null)
    .where((where) => where.or([where("expires_at_ms", "is", null), where("expires_at_ms", ">", nowMs)]))
    .execute();
  const [first, ...others] = rows.map(({ ceilings }) => ceilings);
  return others.reduce<Ceilings | null>(
    (widest, one) =>
      widest && {
        ...widest,
        computers: Math.max(widest.computers, one.computers),
        disk_bytes: Math.max(widest.disk_bytes, one.disk_bytes),
        snapshots: Math.max(widest.snapshots, one.snapshots),
      },
    first ?? null,
  );
};

/** Locks the account's row: changes to who there is take turns. */
export const lockAccount = (transaction: Transaction, accountId: string) =>
  transaction
    .selectFrom("accounts")
    .select("id")
    .where("id", "=", accountId)
    .forUpdate()
    .executeTakeFirstOrThrow();

/** Locks the assistant's row: what its ceilings count takes turns. */
export const lockAssistant = async (transaction: Transaction, id: string): Promise<void> => {
  await sql`select id from assistants where id = ${id} for update`.execute(transaction);
};

/** Locks the assistant's row and counts its computers that are not destroyed. */
export const lockAndCountComputers = async (
  transaction: Transaction,
  principalId: string,
): Promise<number> => {
  // Two statements, sent together: the count must be taken after the lock is held, so it needs its own snapshot.
  const lock = lockAssistant(transaction, principalId);
  const counted = countComputers(transaction, principalId);
  const [, count] = await Promise.all([lock, counted]);
  return count;
};

export const countComputers = async (db: Database | Transaction, principalId: string): Promise<number> => {
  const { rows } = await sql<{ readonly count: number }>`
    select count(*) as count from computers
    where (principal_id = ${principalId} or delegator_id = ${principalId}) and state <> 'destroyed'`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
};
