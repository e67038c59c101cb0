import { type SelectQueryBuilder, sql } from "kysely";
import type { Principal } from "../domain/principal.ts";
import type { RunRow } from "./runs.ts";
import { type ScheduleRow, schedulesOfProjects } from "./schedules.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";
import { mayBeSeenBy } from "./visible.ts";

/** The newest run of each. */
export const lastRuns = async (
  db: Database | Transaction,
  scheduleIds: readonly string[],
): Promise<ReadonlyMap<string, RunRow>> => {
  if (scheduleIds.length === 0) return new Map();
  const { rows } = await sql<RunRow>`
    select last.* from unnest(${[...scheduleIds]}::text[]) as wanted (id)
    cross join lateral (select * from runs where runs.schedule_id = wanted.id order by runs.id desc limit 1) as last`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.schedule_id, row]));
};

export interface ScheduleSummary {
  readonly schedule: ScheduleRow;
  readonly last: RunRow | undefined;
}

/** The schedules of these projects in the order of names, each with its newest run. */
export const summariesOfProjects = async (
  db: Database | Transaction,
  projectIds: readonly string[],
): Promise<readonly ScheduleSummary[]> => {
  const schedules = await schedulesOfProjects(db, projectIds);
  const last = await lastRuns(
    db,
    schedules.map(({ id }) => id),
  );
  return schedules.map((schedule) => ({ schedule, last: last.get(schedule.id) }));
};

export const findRun = (
  db: Database | Transaction,
  principal: Principal,
  id: string,
): Promise<RunRow | undefined> => visible(db, principal).where("runs.id", "=", id).executeTakeFirst();

export interface RunFilter {
  readonly principal: Principal;
  readonly scheduleId: string | undefined;
  readonly computerId: string | undefined;
  readonly failed: boolean;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export const listRuns = (db: Database, filter: RunFilter): Promise<RunRow[]> => {
  let query = visible(db, filter.principal);
  if (filter.scheduleId !== undefined) query = query.where("runs.schedule_id", "=", filter.scheduleId);
  if (filter.computerId !== undefined) query = query.where("runs.computer_id", "=", filter.computerId);
  if (filter.failed) query = query.where("runs.state", "=", "failed");
  if (filter.before !== undefined) query = query.where("runs.id", "<", filter.before);
  return query.orderBy("runs.id", "desc").limit(filter.limit).execute();
};

/** Lets go of the oldest ended ones over `kept` of each of these schedules. */
export const pruneRuns = async (
  db: Database,
  scheduleIds: readonly string[],
  kept: number,
): Promise<void> => {
  if (scheduleIds.length === 0) return;
  await sql`
    delete from runs using (
      select wanted.id as schedule_id, (
        select id from runs where runs.schedule_id = wanted.id order by id desc offset ${kept}::bigint limit 1
      ) as last from unnest(${[...scheduleIds]}::text[]) as wanted (id)
    ) as old
    where runs.schedule_id = old.schedule_id and runs.id <= old.last
      and runs.state not in ('queued', 'running', 'waiting_to_retry') and (runs.fork_id is null or runs.fork_gone)`.execute(
    db,
  );
};

const visible = (
  db: Database | Transaction,
  principal: Principal,
): SelectQueryBuilder<Tables, "runs" | "schedules" | "computers", RunRow> =>
  db
    .selectFrom("runs")
    .innerJoin("schedules", "schedules.id", "runs.schedule_id")
    .innerJoin("computers", "computers.id", "runs.computer_id")
    .selectAll("runs")
    .where("schedules.state", "<>", "deleted")
    .where("computers.desired_state", "<>", "destroyed")
    .where(mayBeSeenBy(principal));
