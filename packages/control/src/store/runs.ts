import { type Selectable, sql } from "kysely";
import { storableJson } from "./storable.ts";
import type { StoredExit } from "./tables/computers.ts";
import type { Tables } from "./tables/index.ts";
import type { RunDefinition } from "./tables/schedules.ts";
import type { Database, Transaction } from "./transaction.ts";

export type RunRow = Selectable<Tables["runs"]>;
export type { RunDefinition };

const activeStates = ["queued", "running", "waiting_to_retry"] as const;

export const isActive = (run: Pick<RunRow, "state">): boolean =>
  activeStates.some((state) => state === run.state);

export type NewRun = Pick<
  RunRow,
  | "id"
  | "schedule_id"
  | "account_id"
  | "computer_id"
  | "principal_id"
  | "cause"
  | "slot_ms"
  | "state"
  | "reason"
  | "process_id"
  | "input"
  | "definition"
  | "created_at_ms"
  | "ended_at_ms"
>;

/**
 * Writes them down, but for those whose slot has a run already, and answers what was written. One statement whatever their number, so that it
 * stays prepared.
 */
export const insertRuns = async (db: Transaction, runs: readonly NewRun[]): Promise<readonly RunRow[]> => {
  if (runs.length === 0) return [];
  const { rows } = await sql<RunRow>`
    insert into runs (id, schedule_id, account_id, computer_id, principal_id, cause, slot_ms, state, reason, process_id, input,
      definition, created_at_ms, ended_at_ms)
    select id, schedule_id, account_id, computer_id, principal_id, cause, slot_ms, state, reason, process_id, input,
      definition, created_at_ms, ended_at_ms
    from jsonb_to_recordset(${storableJson(runs)}::jsonb) as fresh (id text, schedule_id text, account_id text, computer_id text,
      principal_id text, cause text, slot_ms bigint, state text, reason text, process_id text, input text, definition jsonb,
      created_at_ms bigint, ended_at_ms bigint)
    on conflict (schedule_id, slot_ms) where slot_ms is not null do nothing
    returning *`.execute(db);
  return rows;
};

export const getRun = (db: Database | Transaction, id: string): Promise<RunRow | undefined> =>
  db.selectFrom("runs").selectAll().where("id", "=", id).executeTakeFirst();

export interface Handed {
  readonly computerId: string;
  readonly cellId: string | null;
  /** What lists show of the command. */
  readonly command: string;
  readonly woke: RunRow["woke"];
  readonly nowMs: number;
}

/**
 * Its process was handed to the computer: the run goes on, and the process is listed. Undefined, and nothing written, when the run is no longer
 * queued with this process.
 */
export const startRun = async (db: Transaction, run: RunRow, handed: Handed): Promise<RunRow | undefined> => {
  const { rows } = await sql<RunRow>`
    with started as (
      update runs set state = 'running', started_at_ms = coalesce(started_at_ms, ${handed.nowMs}),
        woke = coalesce(woke, ${handed.woke}::text)
      where id = ${run.id} and state = 'queued' and process_id = ${run.process_id}
      returning *
    ), listed as (
      insert into processes (id, computer_id, cell_id, operation_id, principal_id, command, terminal, stdin_open, state, started_at_ms)
      select process_id, ${handed.computerId}::text, ${handed.cellId}::text, id, principal_id, ${handed.command}::text, false, false,
        'starting', ${handed.nowMs}::bigint
      from started
      on conflict (id) do nothing
    )
    select * from started`.execute(db);
  return rows[0];
};

export interface RunEnd {
  readonly state: "succeeded" | "failed" | "cancelled";
  readonly reason: string | null;
  readonly exit: StoredExit | null;
  readonly timedOut: boolean;
  readonly outputBytes: number;
  readonly keptOutput: string | null;
  readonly endedAtMs: number;
}

/** Undefined when it had ended already. */
export const endRun = (db: Transaction, run: RunRow, end: RunEnd): Promise<RunRow | undefined> =>
  db
    .updateTable("runs")
    .set({
      ...endColumns(end),
      state: end.state,
      reason: end.reason,
      ended_at_ms: end.endedAtMs,
      definition: null,
      input: null,
    })
    .where("id", "=", run.id)
    .where("state", "in", activeStates)
    .where("attempt", "=", run.attempt)
    .returningAll()
    .executeTakeFirst();

/** This attempt failed, and another one follows. Undefined when the run has ended, or another attempt is under way. */
export const retryRun = (
  db: Transaction,
  run: RunRow,
  end: RunEnd,
  retryAtMs: number,
): Promise<RunRow | undefined> =>
  db
    .updateTable("runs")
    .set({ ...endColumns(end), state: "waiting_to_retry", reason: end.reason, retry_at_ms: retryAtMs })
    .where("id", "=", run.id)
    .where("state", "in", ["queued", "running"])
    .where("attempt", "=", run.attempt)
    .returningAll()
    .executeTakeFirst();

const endColumns = (end: RunEnd) => ({
  exit: end.exit,
  timed_out: end.timedOut,
  output_bytes: end.outputBytes,
  kept_output: end.keptOutput,
});

/** The next attempt begins, as a process of its own. Undefined when somebody wants the run to end by now. */
export const beginRetry = (db: Database, run: RunRow, processId: string): Promise<RunRow | undefined> =>
  db
    .updateTable("runs")
    .set((all) => ({
      state: "queued",
      attempt: all("attempt", "+", 1),
      process_id: processId,
      retry_at_ms: null,
      fork_id: null,
      reason: null,
      exit: null,
      timed_out: false,
      output_bytes: 0,
      kept_output: null,
    }))
    .where("id", "=", run.id)
    .where("state", "=", "waiting_to_retry")
    .where("attempt", "=", run.attempt)
    .where("cancel_reason", "is", null)
    .returningAll()
    .executeTakeFirst();

/**
 * The oldest run that waits for another's end gets its turn, unless one goes on. Its schedule is locked by the caller: whoever makes a run wait
 * holds that lock too, so none waits for a run that has ended.
 */
export const giveTurn = async (
  db: Transaction,
  scheduleId: string,
  processId: string,
): Promise<RunRow | undefined> => {
  const { rows } = await sql<RunRow>`
    update runs set process_id = ${processId}
    where id = (
      select id from runs where schedule_id = ${scheduleId} and state = 'queued' and process_id is null and cancel_reason is null
      order by created_at_ms, slot_ms, id limit 1
    ) and not exists (
      select 1 from runs going join schedules on schedules.id = going.schedule_id
      where going.schedule_id = ${scheduleId} and going.state in ('queued', 'running', 'waiting_to_retry')
        and going.process_id is not null and (going.cause <> 'manual' or schedules.overlap = 'queue')
    )
    returning *`.execute(db);
  return rows[0];
};

/** Wants what has not ended of these to end. Answers those, as they are by now. `except`: runs by hand. */
export const cancelRuns = (
  db: Database | Transaction,
  which: { readonly id: string } | { readonly schedules: readonly string[] },
  reason: string,
): Promise<RunRow[]> => {
  let query = db.updateTable("runs").set({ cancel_reason: reason }).where("state", "in", activeStates);
  query =
    "id" in which
      ? query.where("id", "=", which.id)
      : query
          .where(sql<boolean>`schedule_id = any(${[...which.schedules]}::text[])`)
          .where("cause", "<>", "manual");
  return query.where("cancel_reason", "is", null).returningAll().execute();
};

export const setFork = async (db: Transaction, run: RunRow, forkId: string): Promise<boolean> => {
  const { numUpdatedRows } = await db
    .updateTable("runs")
    .set({ fork_id: forkId, fork_gone: false })
    .where("id", "=", run.id)
    .where("state", "=", "queued")
    .where("attempt", "=", run.attempt)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
};

export const forkGone = async (db: Database, runId: string, forkId: string): Promise<void> => {
  await db
    .updateTable("runs")
    .set({ fork_gone: true })
    .where("id", "=", runId)
    .where("fork_id", "=", forkId)
    .execute();
};

/** Forks whose run has ended and that were not given up yet. */
export const leftForks = (db: Database, limit: number): Promise<RunRow[]> =>
  db
    .selectFrom("runs")
    .selectAll()
    .where("fork_id", "is not", null)
    .where("fork_gone", "=", false)
    .where("state", "not in", activeStates)
    .limit(limit)
    .execute();

/** Those of this node that have not ended, in pages, and whether the process of each has. */
export const listActive = (
  db: Database,
  nodeId: string,
  after: string,
  limit: number,
): Promise<(RunRow & { readonly process_ended: boolean })[]> =>
  db
    .selectFrom("runs")
    .innerJoin("computers", "computers.id", "runs.computer_id")
    .leftJoin("processes", "processes.id", "runs.process_id")
    .selectAll("runs")
    .select(sql<boolean>`coalesce(processes.state = 'ended', false)`.as("process_ended"))
    .where("computers.node_id", "=", nodeId)
    .where("runs.state", "in", activeStates)
    .where("runs.id", ">", after)
    .orderBy("runs.id")
    .limit(limit)
    .execute();

/** Schedules of which a run waits for a turn though none goes on: a control ended between two commits. */
export const stuckSchedules = async (db: Database, limit: number): Promise<readonly string[]> => {
  const { rows } = await sql<{ schedule_id: string }>`
    select distinct schedule_id from runs waiting
    where state = 'queued' and process_id is null and cancel_reason is null and not exists (
      select 1 from runs going join schedules on schedules.id = going.schedule_id
      where going.schedule_id = waiting.schedule_id and going.state in ('queued', 'running', 'waiting_to_retry')
        and going.process_id is not null and (going.cause <> 'manual' or schedules.overlap = 'queue'))
    limit ${limit}`.execute(db);
  return rows.map((row) => row.schedule_id);
};

/** Those that have not ended; of them, those that wait for their turn. */
export const countActive = async (
  db: Transaction,
  scheduleId: string,
): Promise<{ readonly active: number; readonly manual: number; readonly waiting: number }> => {
  const { rows } = await sql<{ active: number; manual: number; waiting: number }>`
    select count(*) filter (where cause <> 'manual') as active, count(*) filter (where cause = 'manual') as manual,
      count(*) filter (where process_id is null) as waiting
    from runs where schedule_id = ${scheduleId} and state in ('queued', 'running', 'waiting_to_retry')`.execute(
    db,
  );
  return rows[0] ?? { active: 0, manual: 0, waiting: 0 };
};
