import type { AccessRecord } from "@holdfast/contract";
import { type Selectable, sql } from "kysely";
import type { Tables } from "./tables/index.ts";
import type { Database } from "./transaction.ts";

/**
 * Counts a start for visitors on this day (days since 1970). False, and nothing counted, when they have had `most` of them already; one
 * statement, so that many at once never pass it.
 */
export const countVisitorWake = async (
  db: Database,
  projectId: string,
  day: number,
  most: number,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into visitor_wakes as counted (project_id, day, wakes) values (${projectId}, ${day}, 1)
    on conflict (project_id) do update
    set wakes = case when counted.day = excluded.day then counted.wakes + 1 else 1 end, day = excluded.day
    where counted.day <> excluded.day or counted.wakes < ${most}
    returning wakes`.execute(db);
  return rows.length === 1;
};

/** How many starts for visitors were counted on this day. */
export const visitorWakes = async (db: Database, projectId: string, day: number): Promise<number> => {
  const row = await db
    .selectFrom("visitor_wakes")
    .select("wakes")
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .executeTakeFirst();
  return row?.wakes ?? 0;
};

export type AccessRow = Selectable<Tables["access_records"]>;

/** Any number in one statement, in their order. Those of projects that are not there are left out. */
export const insertAccessRecords = async (db: Database, records: readonly AccessRecord[]): Promise<void> => {
  const column = <T>(pick: (record: AccessRecord) => T): T[] => records.map(pick);
  await sql`
    insert into access_records (project_id, at_ms, port, method, path, status, received_bytes, sent_bytes, duration_ms, subject)
    select told.project_id, at_ms, port, method, path, status, received_bytes, sent_bytes, duration_ms, subject
    from unnest(
      ${column((record) => record.project_id)}::text[], ${column((record) => record.at_ms)}::bigint[],
      ${column((record) => record.port)}::integer[], ${column((record) => record.method)}::text[],
      ${column((record) => record.path)}::text[], ${column((record) => record.status)}::integer[],
      ${column((record) => record.received_bytes)}::bigint[], ${column((record) => record.sent_bytes)}::bigint[],
      ${column((record) => record.duration_ms)}::bigint[], ${column((record) => record.subject)}::text[]
    ) with ordinality as told (project_id, at_ms, port, method, path, status, received_bytes, sent_bytes, duration_ms, subject, place)
    join projects on projects.id = told.project_id and projects.state = 'living'
    order by told.place`.execute(db);
};

/** Newest first. */
export const listAccessRecords = (
  db: Database,
  projectId: string,
  before: number | undefined,
  limit: number,
): Promise<AccessRow[]> => {
  const query = db.selectFrom("access_records").selectAll().where("project_id", "=", projectId);
  return (before === undefined ? query : query.where("id", "<", before))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
};

/** Keeps the newest `keep` of each of these projects. */
export const trimAccessRecords = async (
  db: Database,
  projectIds: readonly string[],
  keep: number,
): Promise<void> => {
  await sql`
    delete from access_records using (
      select wanted.id as project_id, (
        select record.id from access_records as record
        where record.project_id = wanted.id order by record.id desc offset ${keep} limit 1
      ) as newest_too_many
      from unnest(${[...projectIds]}::text[]) as wanted (id)
    ) as trimmed
    where access_records.project_id = trimmed.project_id and access_records.id <= trimmed.newest_too_many`.execute(
    db,
  );
};

/** Projects of which there are access records. */
export const listRecordedProjects = async (db: Database): Promise<readonly string[]> => {
  const { rows } = await sql<{ readonly id: string }>`
    select id from projects
    where exists (select from access_records where access_records.project_id = projects.id)`.execute(db);
  return rows.map(({ id }) => id);
};

/** Forgets who visited projects that were destroyed since, who might have, and how often they were started. */
export const forgetDestroyed = async (db: Database, sinceMs: number): Promise<void> => {
  for (const table of ["tickets", "visit_sessions", "shares", "visitor_wakes", "access_records"] as const)
    await sql`
      delete from ${sql.table(table)} using projects
      where projects.id = project_id and projects.state = 'destroyed' and projects.destroyed_at_ms >= ${sinceMs}`.execute(
      db,
    );
};

/** The computers of living projects among these; one of each project. */
export const listComputersOf = (
  db: Database,
  projectIds: readonly string[],
): Promise<readonly { readonly computer_id: string }[]> =>
  projectIds.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom("projects")
        .select("computer_id")
        .where("id", "in", projectIds)
        .where("state", "=", "living")
        .execute();
