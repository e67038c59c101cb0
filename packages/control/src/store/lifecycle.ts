import { type ComputerSize, computerSizes, lifecycleDefaults } from "@holdfast/contract";
import { sql } from "kysely";
import type { Computer } from "../domain/computer.ts";
import { type ComputerRow, toComputer } from "./computer-row.ts";
import type { Database, Transaction } from "./transaction.ts";

const defaultOf = (field: "sleep_after_ms" | "stop_after_ms") =>
  sql`coalesce(${sql.ref(field)}, case size ${sql.join(
    Object.entries(lifecycleDefaults).map(
      ([size, values]) => sql`when ${sql.lit(size)} then ${sql.lit(values[field])}`,
    ),
    sql` `,
  )} end)`;

/**
 * Living computers of this node whose time can be over, or half over where they are awake, in the order of their ids. What is known in memory
 * only, and what holds them awake, is not looked at.
 */
export const listDue = async (
  db: Database,
  where: { readonly nodeId: string; readonly nowMs: number; readonly after: string; readonly limit: number },
): Promise<readonly Computer[]> => {
  const { nodeId, nowMs, after, limit } = where;
  const now = sql`${nowMs}::bigint`;
  const { rows } = await sql<ComputerRow>`
    select * from computers
    where node_id = ${nodeId} and state <> 'destroyed' and desired_state <> 'destroyed' and id > ${after} and (
      expires_at_ms <= ${now}
      or (state = desired_state and (
        (state = 'awake' and not keep_awake and ${defaultOf("sleep_after_ms")} > 0
          and active_at_ms + ${defaultOf("sleep_after_ms")} / 2 <= ${now})
        or (state = 'asleep' and not keep_awake and ${defaultOf("stop_after_ms")} > 0
          and state_since_ms + ${defaultOf("stop_after_ms")} <= ${now})
        or (state = 'stopped' and archive_after_ms > 0 and state_since_ms + archive_after_ms <= ${now})
      ))
    )
    order by id
    limit ${limit}`.execute(db);
  return rows.map(toComputer);
};

/** Of those that something keeps awake, or kept awake until lately: until when, at most `nowMs`. */
export const keptUntil = async (
  db: Database,
  ids: readonly string[],
  nowMs: number,
): Promise<readonly { readonly computerId: string; readonly untilMs: number }[]> => {
  const now = sql<number>`${nowMs}::bigint`;
  const { rows } = await sql<{ computer_id: string; until_ms: number }>`
    select computer_id, max(until_ms) as until_ms from (
      select holds.computer_id, least(
        holds.expires_at_ms, ${now},
        coalesce(process.ended_at_ms, case when process.state = 'ended' then holds.taken_at_ms end, ${now})
      ) as until_ms
      from holds left join processes as process on process.id = holds.process_id
      where holds.computer_id = any(${[...ids]})
      union all
      select computer_id, case when state = 'ended' then coalesce(ended_at_ms, started_at_ms) else ${now} end
      from processes
      where keep_awake and computer_id = any(${[...ids]})
    ) as kept
    group by computer_id`.execute(db);
  return rows.map((row) => ({ computerId: row.computer_id, untilMs: row.until_ms }));
};

/** When something was last done on them, as far as is known now. */
export const writeActive = async (
  db: Database,
  seen: readonly { readonly id: string; readonly atMs: number }[],
): Promise<void> => {
  await sql`
    update computers set active_at_ms = seen.at_ms
    from unnest(${seen.map(({ id }) => id)}::text[], ${seen.map(({ atMs }) => atMs)}::bigint[]) as seen(id, at_ms)
    where computers.id = seen.id and computers.active_at_ms < seen.at_ms`.execute(db);
};

/** Locks a computer and all that descend from it and are not being destroyed, children before parents. */
export const lockFamily = async (transaction: Transaction, id: string): Promise<readonly Computer[]> => {
  const { rows } = await sql<ComputerRow>`
    with recursive family as (
      select id, 0 as depth from computers where id = ${id}
      union all
      select child.id, family.depth + 1 from computers as child join family on child.parent_id = family.id
      where child.desired_state <> 'destroyed' and family.depth < ${sql.lit(mostGenerations)}
    )
    select computers.* from computers join family on family.id = computers.id
    order by family.depth desc, computers.id
    for update of computers`.execute(transaction);
  return rows.map(toComputer);
};

/** A child of a child of a child … More are not made. */
const mostGenerations = 100;

/** Takes away lifetime and parent, and makes it `principalId`'s own; grows its version. */
export const promoteComputer = async (
  transaction: Transaction,
  id: string,
  principalId: string,
  nowMs: number,
): Promise<Computer> => {
  const [row] = await Promise.all([
    transaction
      .updateTable("computers")
      .set((all) => ({
        expires_at_ms: null,
        parent_id: null,
        delegator_id: null,
        principal_id: principalId,
        version: all("version", "+", 1),
        updated_at_ms: nowMs,
      }))
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirstOrThrow(),
    transaction
      .updateTable("projects")
      .set({ principal_id: principalId })
      .where("computer_id", "=", id)
      .execute(),
    // Whose they are also when those projects are gone.
    transaction
      .updateTable("slugs")
      .set({ principal_id: principalId })
      .where("project_id", "in", (of) =>
        of.selectFrom("projects").select("projects.id").where("projects.computer_id", "=", id),
      )
      .execute(),
  ]);
  return toComputer(row);
};

/** Disk that the computers of a principal and their children may have together, by their sizes; `except` one. */
export const diskOf = async (
  db: Database | Transaction,
  principalId: string,
  except: string | null,
): Promise<number> => {
  const { rows } = await sql<{ readonly size: ComputerSize; readonly count: number }>`
    select size, count(*) as count from computers
    where (principal_id = ${principalId} or delegator_id = ${principalId}) and state <> 'destroyed'
      and (${except}::text is null or id <> ${except}::text)
    group by size`.execute(db);
  return rows.reduce((bytes, { size, count }) => bytes + count * computerSizes[size].disk_bytes, 0);
};
