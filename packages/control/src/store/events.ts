import { type Selectable, sql } from "kysely";
import type { EventLog, NewEvent } from "../domain/events.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Store } from "./transaction.ts";

export const eventsChannel = "holdfast_events";

export type EventRow = Selectable<Tables["events"]> & { readonly number: number };

/** Filled for `domain/events.ts`: rows without a number, in the change's transaction. */
export const createEventLog = (now: () => number): EventLog => ({
  append: async (transaction, ...events) => {
    const rows = events.map((event) => {
      const row = eventValues(event, now());
      return sql`(${row.account_id}, ${row.kind}, ${row.target}, ${row.computer_id}, ${row.visible_to}, ${row.at_ms}, ${row.data})`;
    });
    const insert = sql`
      insert into events (account_id, kind, target, computer_id, visible_to, at_ms, data) values ${sql.join(rows)}`.execute(
      transaction,
    );
    await Promise.all([insert, sql`select pg_notify(${eventsChannel}, '')`.execute(transaction)]);
  },
});

/** An event as its row holds it, before it has a number. */
export const eventValues = (event: NewEvent, atMs: number) => ({
  account_id: event.accountId,
  kind: event.kind,
  target: event.target,
  computer_id: event.computerId,
  visible_to: event.visibleTo,
  at_ms: atMs,
  data: event.data,
});

export type EventValues = ReturnType<typeof eventValues>;

/** Any number of ours: only one control numbers at a time. */
const lockKey = 724_041_932;

/** Numbers committed events, in an order that never changes: a higher number is never visible before a lower one. */
export const numberEvents = (store: Store): Promise<void> =>
  store.transaction(async (transaction) => {
    const lock = sql`select pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(transaction);
    const numbering = sql`
      update events set number = fresh.number
      from (select id, nextval('event_numbers') as number from (select id from events where number is null order by id limit 1000) as waiting) as fresh
      where events.id = fresh.id`.execute(transaction);
    await Promise.all([lock, numbering]);
  });

/** Numbered events after `after`, in order. */
export const listEventsAfter = async (
  db: Database,
  after: number,
  limit: number,
): Promise<readonly EventRow[]> => {
  const rows = await db
    .selectFrom("events")
    .selectAll()
    .where("number", ">", after)
    .orderBy("number")
    .limit(limit)
    .execute();
  return rows as readonly EventRow[];
};

/** First and last number kept; both 0 when there is none. */
export const eventRange = async (
  db: Database,
): Promise<{ readonly first: number; readonly last: number }> => {
  const row = await db
    .selectFrom("events")
    .select((select) => [
      sql<number>`coalesce(${select.fn.min("number")}, 0)`.as("first"),
      sql<number>`coalesce(${select.fn.max("number")}, 0)`.as("last"),
    ])
    .executeTakeFirstOrThrow();
  return row;
};

export const deleteOldEvents = async (db: Database, keep: number): Promise<void> => {
  await sql`delete from events where number <= (select max(number) from events) - ${keep}`.execute(db);
};
