import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { Computer } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import { getComputers } from "./computers.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";
import { mayBeSeenBy } from "./visible.ts";

export type ScheduleRow = Selectable<Tables["schedules"]>;

export const scheduleNameIndex = "schedules_name";

/** Throws a unique violation of `scheduleNameIndex` when the computer has a schedule of this name. */
export const insertSchedule = (
  db: Transaction,
  fresh: Omit<ScheduleRow, "retry_day" | "retries_used" | "claimed_at_ms" | "version">,
): Promise<ScheduleRow> => db.insertInto("schedules").values(fresh).returningAll().executeTakeFirstOrThrow();

export type ScheduleChange = Partial<
  Omit<ScheduleRow, "id" | "account_id" | "computer_id" | "version" | "created_at_ms" | "updated_at_ms">
>;

/** Grows the version. */
export const changeSchedule = (
  db: Transaction,
  id: string,
  change: ScheduleChange,
  nowMs: number,
): Promise<ScheduleRow> =>
  db
    .updateTable("schedules")
    .set((all) => ({ ...change, version: all("version", "+", 1), updated_at_ms: nowMs }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

export interface WhichSchedule {
  readonly principal: Principal;
  /** Id, or a name on `computerId`. */
  readonly ref: string;
  readonly computerId: string | undefined;
  /** Locks its row until the transaction ends: after the computer's, before those of its runs. */
  readonly lock?: boolean;
}

/** Among those of the computers that the principal may see. */
export const findSchedule = async (
  db: Database | Transaction,
  { principal, ref, computerId, lock }: WhichSchedule,
): Promise<ScheduleRow | undefined> => {
  let query = visible(db, principal).where(
    ref.startsWith("sch_") ? "schedules.id" : "schedules.name",
    "=",
    ref,
  );
  if (computerId !== undefined) query = query.where("schedules.computer_id", "=", computerId);
  if (lock === true) query = query.forUpdate("schedules");
  return query.limit(1).executeTakeFirst();
};

export const getSchedule = (db: Database | Transaction, id: string): Promise<ScheduleRow | undefined> =>
  db
    .selectFrom("schedules")
    .selectAll()
    .where("id", "=", id)
    .where("state", "<>", "deleted")
    .executeTakeFirst();

/** Also a deleted one. Before its runs are changed: whoever gives a turn takes this lock. */
export const lockSchedule = (db: Transaction, id: string): Promise<ScheduleRow | undefined> =>
  db.selectFrom("schedules").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();

export interface ScheduleFilter {
  readonly principal: Principal;
  readonly computerId: string | undefined;
  readonly projectId: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export const listSchedules = (
  db: Database,
  { principal, computerId, projectId, before, limit }: ScheduleFilter,
): Promise<ScheduleRow[]> => {
  let query = visible(db, principal);
  if (computerId !== undefined) query = query.where("schedules.computer_id", "=", computerId);
  if (projectId !== undefined) query = query.where("schedules.project_id", "=", projectId);
  if (before !== undefined) query = query.where("schedules.id", "<", before);
  return query.orderBy("schedules.id", "desc").limit(limit).execute();
};

/** All of a computer, in the order of names. */
export const schedulesOf = (db: Database | Transaction, computerId: string): Promise<ScheduleRow[]> =>
  db
    .selectFrom("schedules")
    .selectAll()
    .where("computer_id", "=", computerId)
    .where("state", "<>", "deleted")
    .orderBy("name")
    .execute();

export const schedulesOfProjects = (
  db: Database | Transaction,
  projectIds: readonly string[],
): Promise<ScheduleRow[]> =>
  projectIds.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom("schedules")
        .selectAll()
        .where("project_id", "in", projectIds)
        .where("state", "<>", "deleted")
        .orderBy("name")
        .execute();

export const countSchedules = async (
  db: Transaction,
  of: { readonly computerId: string } | { readonly accountId: string },
): Promise<number> => {
  const query = db
    .selectFrom("schedules")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("state", "<>", "deleted");
  const { count } = await ("computerId" in of
    ? query.where("computer_id", "=", of.computerId)
    : query.where("account_id", "=", of.accountId)
  ).executeTakeFirstOrThrow();
  return count;
};

/** Nobody sees them any more; their runs under way are asked to end. The rows go once those have. */
export const deleteSchedules = async (
  db: Transaction,
  which:
    | { readonly ids: readonly string[] }
    | { readonly projectId: string }
    | { readonly computerId: string },
  reason: string,
): Promise<void> => {
  if ("ids" in which && which.ids.length === 0) return;
  let query = db.updateTable("schedules").set({ state: "deleted", next_slot_ms: null });
  if ("ids" in which) query = query.where("id", "in", which.ids);
  else if ("projectId" in which) query = query.where("project_id", "=", which.projectId);
  else query = query.where("computer_id", "=", which.computerId);
  const deleted = await query.where("state", "<>", "deleted").returning("id").execute();
  if (deleted.length === 0) return;
  await db
    .updateTable("runs")
    .set({ cancel_reason: reason })
    .where(
      "schedule_id",
      "in",
      deleted.map(({ id }) => id),
    )
    .where("state", "in", ["queued", "running", "waiting_to_retry"])
    .execute();
};

/** Of a computer that is gone, at once and with all their runs: nothing of them goes on anywhere. */
export const forgetSchedules = async (db: Transaction, computerId: string): Promise<void> => {
  await db.deleteFrom("schedules").where("computer_id", "=", computerId).execute();
};

/** Those that are deleted and have no run under way. */
export const sweepDeleted = async (db: Database): Promise<void> => {
  await sql`
    delete from schedules where state = 'deleted' and not exists (
      select 1 from runs where runs.schedule_id = schedules.id
        and (runs.state in ('queued', 'running', 'waiting_to_retry') or (runs.fork_id is not null and not runs.fork_gone)))`.execute(
    db,
  );
};

/** Ids in their order, in pages. */
export const scheduleIds = async (db: Database, after: string, limit: number): Promise<readonly string[]> =>
  (
    await db.selectFrom("schedules").select("id").where("id", ">", after).orderBy("id").limit(limit).execute()
  ).map(({ id }) => id);

/** The first slot of all, on this node; null when there is none. */
export const earliestSlot = async (db: Database, nodeId: string): Promise<number | null> =>
  (
    await db
      .selectFrom("schedules")
      .innerJoin("computers", "computers.id", "schedules.computer_id")
      .select("schedules.next_slot_ms")
      .where("schedules.next_slot_ms", "is not", null)
      .where("computers.node_id", "=", nodeId)
      .orderBy("schedules.next_slot_ms")
      .limit(1)
      .executeTakeFirst()
  )?.next_slot_ms ?? null;

export interface DueSchedule {
  readonly schedule: ScheduleRow;
  readonly computer: Computer;
  /** Runs that have not ended, without those by hand. */
  readonly active: number;
  readonly waiting: number;
  /** Whether whose computer it is may run anything by now. */
  readonly standing: boolean;
}

/**
 * Whether whoever `principal` names may have runs made: an owner who is not removed, an assistant with a key that is good and goes up to making
 * things. What is scheduled has the rights of whose computer it is, so it ends with them.
 */
const standing = (principal: ReturnType<typeof sql.ref>, nowMs: number) => sql<boolean>`(
  exists (select 1 from keys where keys.assistant_id = ${principal} and keys.revoked_at_ms is null
    and (keys.expires_at_ms is null or keys.expires_at_ms > ${nowMs}) and keys.ceilings->>'consequence' not in ('observe', 'recommend'))
  or exists (select 1 from owners where owners.id = ${principal} and owners.state = 'active'))`;

/** Locks them until the transaction ends; those that somebody else has locked are left out. The first slot first. */
export const takeDue = async (
  db: Transaction,
  nodeId: string,
  nowMs: number,
  limit: number,
): Promise<readonly DueSchedule[]> => {
  const { rows } = await sql<Omit<DueSchedule, "computer">>`
    select to_jsonb(s) - 'event_key_hash' as schedule, r.active, r.waiting,
      ${standing(sql.ref("c.principal_id"), nowMs)} as standing
    from schedules s
    join computers c on c.id = s.computer_id
    cross join lateral (
      select count(*) as active, count(*) filter (where runs.process_id is null) as waiting from runs
      where runs.schedule_id = s.id and runs.state in ('queued', 'running', 'waiting_to_retry')
        and (runs.cause <> 'manual' or s.overlap = 'queue')
    ) r
    where s.next_slot_ms <= ${nowMs} and c.node_id = ${nodeId}
    order by s.next_slot_ms
    limit ${limit}
    for update of s skip locked`.execute(db);
  // Apart, for many may be of one computer.
  const computers = new Map(
    (await getComputers(db, [...new Set(rows.map(({ schedule }) => schedule.computer_id))])).map(
      (computer) => [computer.id, computer],
    ),
  );
  return rows.flatMap((row) => {
    const computer = computers.get(row.schedule.computer_id);
    return computer ? [{ ...row, computer }] : [];
  });
};

/** The same of one, for a run by an event. */
export const mayRun = async (db: Transaction, principalId: string, nowMs: number): Promise<boolean> => {
  const { rows } = await sql<{ standing: boolean }>`
    select ${standing(sql.ref("who.id"), nowMs)} as standing from (select ${principalId}::text as id) as who`.execute(
    db,
  );
  return rows[0]?.standing === true;
};

export interface Advanced {
  readonly id: string;
  /** Null: there is no further slot. */
  readonly nextMs: number | null;
}

/** What comes next of each, in one statement. `ends`: one without a further slot is `ended`. */
export const advanceSlots = async (
  db: Database | Transaction,
  slots: readonly Advanced[],
  nowMs: number,
): Promise<void> => {
  if (slots.length === 0) return;
  await sql`
    update schedules set next_slot_ms = fresh.next, claimed_at_ms = ${nowMs},
      state = case when fresh.next is null then 'ended' else state end
    from unnest(${slots.map(({ id }) => id)}::text[], ${slots.map(({ nextMs }) => nextMs)}::bigint[]) as fresh (id, next)
    where schedules.id = fresh.id`.execute(db);
};

/** Those whose slots were last claimed so much later than it is now: the clock was set back since. */
export const claimedLater = (db: Transaction, afterMs: number, limit: number): Promise<ScheduleRow[]> =>
  db
    .selectFrom("schedules")
    .selectAll()
    .where("next_slot_ms", "is not", null)
    .where("claimed_at_ms", ">", afterMs)
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();

export const spendRetry = async (
  db: Transaction,
  id: string,
  spent: { readonly day: number; readonly used: number },
): Promise<void> => {
  await db
    .updateTable("schedules")
    .set({ retry_day: spent.day, retries_used: spent.used })
    .where("id", "=", id)
    .execute();
};

const visible = (
  db: Database | Transaction,
  principal: Principal,
): SelectQueryBuilder<Tables, "schedules" | "computers", ScheduleRow> =>
  db
    .selectFrom("schedules")
    .innerJoin("computers", "computers.id", "schedules.computer_id")
    .selectAll("schedules")
    .where("schedules.state", "<>", "deleted")
    .where("computers.desired_state", "<>", "destroyed")
    .where(mayBeSeenBy(principal));
