import { type Selectable, sql } from "kysely";
import type { Computer } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import { type EventValues, eventsChannel } from "./events.ts";
import { type ComputerRow, toComputer } from "./computer-row.ts";
import { storableJson } from "./storable.ts";
import type { StoredExit } from "./tables/computers.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";
import { visibleTo } from "./visible.ts";

export type ProcessRow = Selectable<Tables["processes"]>;

export interface NewProcess {
  readonly id: string;
  readonly operationId: string;
  readonly command: string;
  readonly terminal: boolean;
  readonly stdinOpen: boolean;
  readonly keepAwake: boolean;
  readonly nowMs: number;
}

/**
 * Finds the computer and writes down the process that is about to be started on it, in one statement: this is the path of exec. Answers as
 * `findComputers`; with two rows the caller must roll back.
 */
export const admitProcess = async (
  db: Transaction,
  principal: Principal,
  ref: string,
  fresh: NewProcess,
): Promise<readonly Computer[]> => {
  const visible = visibleTo(principal);
  const { rows } = await sql<ComputerRow>`
    with found as (
      select * from computers
      where account_id = ${principal.accountId}
        and (${visible}::text is null or principal_id = ${visible}::text or delegator_id = ${visible}::text)
        and ${ref.startsWith("cmp_") ? sql`id = ${ref}` : sql`name = ${ref}`}
        and desired_state <> 'destroyed'
      order by principal_id = ${principal.id} desc
      limit 2
    ), added as (
      insert into processes (id, computer_id, cell_id, operation_id, principal_id, command, terminal, stdin_open,
        keep_awake, state, started_at_ms)
      select ${fresh.id}, id, cell_id, ${fresh.operationId}, ${principal.id}, ${fresh.command},
        ${fresh.terminal}::boolean, ${fresh.stdinOpen}::boolean, ${fresh.keepAwake}::boolean, 'starting', ${fresh.nowMs}::bigint
      from found
      limit 1
    )
    select * from found`.execute(db);
  return rows.map(toComputer);
};

/** It never ran. */
export const deleteProcess = async (db: Database, id: string): Promise<void> => {
  await db.deleteFrom("processes").where("id", "=", id).where("state", "=", "starting").execute();
};

/** Of an operation that was left behind: it never ran, and nobody was told of it. False when that is not so. */
export const forgetUnstarted = async (db: Database | Transaction, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom("processes")
    .where("id", "=", id)
    .where("state", "=", "starting")
    .where((where) =>
      where.exists(
        where
          .selectFrom("operations")
          .select("operations.id")
          .whereRef("operations.id", "=", "processes.operation_id")
          .where("operations.outcome", "=", "running"),
      ),
    )
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
};

export const getProcess = (
  db: Database | Transaction,
  computerId: string,
  id: string,
): Promise<ProcessRow | undefined> =>
  db
    .selectFrom("processes")
    .selectAll()
    .where("id", "=", id)
    .where("computer_id", "=", computerId)
    .executeTakeFirst();

export const getProcessById = (db: Database | Transaction, id: string): Promise<ProcessRow | undefined> =>
  db.selectFrom("processes").selectAll().where("id", "=", id).executeTakeFirst();

export interface ProcessFilter {
  readonly computerId: string;
  readonly state: "running" | "ended" | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first. `running` includes those that are just being started. */
export const listProcesses = (
  db: Database,
  { computerId, state, before, limit }: ProcessFilter,
): Promise<ProcessRow[]> => {
  let query = db.selectFrom("processes").selectAll().where("computer_id", "=", computerId);
  if (state !== undefined) query = query.where("state", state === "ended" ? "=" : "<>", "ended");
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
};

export const listUnended = (db: Database | Transaction, computerId: string): Promise<ProcessRow[]> =>
  db
    .selectFrom("processes")
    .selectAll()
    .where("computer_id", "=", computerId)
    .where("state", "<>", "ended")
    .orderBy("id")
    .execute();

/** The kind of the event that tells of a start. */
export const processStarted = "process.started";

export interface ProcessSeen {
  readonly cellId: string | null;
  readonly state: "running" | "ended";
  readonly exit: StoredExit | null;
  readonly timedOut: boolean;
  readonly outOfMemory: boolean;
  readonly background: boolean;
  readonly stdinOpen: boolean;
  readonly endedAtMs: number | null;
  readonly outputBytes: number;
  readonly droppedBytes: number;
}

/** What was seen as the row holds it; its cell apart, for that is kept where it is not known. */
export const seenColumns = (seen: ProcessSeen) => ({
  state: seen.state,
  exit: seen.exit,
  timed_out: seen.timedOut,
  out_of_memory: seen.outOfMemory,
  background: seen.background,
  stdin_open: seen.stdinOpen,
  ended_at_ms: seen.endedAtMs,
  output_bytes: seen.outputBytes,
  dropped_bytes: seen.droppedBytes,
});

/**
 * Writes what was seen of a process, with the events that tell of it, unless its end is written already: a start and an end are told once,
 * whoever saw them first. One statement: this is the path of exec.
 */
export const observeProcess = (
  db: Database | Transaction,
  id: string,
  seen: ProcessSeen,
  told: readonly EventValues[],
) =>
  db
    .with("before", (query) =>
      query.selectFrom("processes").select(["id", "state"]).where("id", "=", id).forUpdate(),
    )
    .with("observed", (query) =>
      query
        .updateTable("processes")
        .from("before")
        .set({
          ...seenColumns(seen),
          ...(seen.cellId === null ? {} : { cell_id: seen.cellId }),
        })
        .whereRef("processes.id", "=", "before.id")
        .where("before.state", "<>", "ended")
        .returning("before.state as was"),
    )
    .with("told", (query) =>
      query
        .insertInto("events")
        .columns(["account_id", "kind", "target", "computer_id", "visible_to", "at_ms", "data"])
        .expression((select) =>
          select
            .selectFrom([
              "observed",
              sql<EventValues>`jsonb_to_recordset(${storableJson(told)}::jsonb)`.as<"event">(
                sql`event(account_id text, kind text, target text, computer_id text, visible_to text, at_ms bigint, data jsonb)`,
              ),
            ])
            .select([
              "event.account_id",
              "event.kind",
              "event.target",
              "event.computer_id",
              "event.visible_to",
              "event.at_ms",
              "event.data",
            ])
            .where((where) =>
              where.or([where("event.kind", "<>", processStarted), where("observed.was", "=", "starting")]),
            ),
        ),
    )
    .selectFrom("observed")
    .select(sql`pg_notify(${eventsChannel}, '')`.as("notified"));

/** Processes of these operations that were in no cell when they were admitted: the one they may have come into since. */
export const setCell = async (
  db: Transaction,
  computerId: string,
  cellId: string,
  operations: readonly string[],
): Promise<void> => {
  if (operations.length === 0) return;
  await db
    .updateTable("processes")
    .set({ cell_id: cellId })
    .where("computer_id", "=", computerId)
    .where("operation_id", "in", operations)
    .where("cell_id", "is", null)
    .execute();
};

/** Those that have not ended become `lost`; answers them. `except`: operations whose processes are on their way into the next cell. */
export const loseProcesses = (
  db: Transaction,
  computerId: string,
  options: { readonly except: readonly string[]; readonly nowMs: number },
): Promise<ProcessRow[]> => {
  let query = db
    .updateTable("processes")
    .set({ state: "ended", exit: { kind: "lost" }, stdin_open: false, ended_at_ms: options.nowMs })
    .where("computer_id", "=", computerId)
    .where("state", "<>", "ended");
  if (options.except.length > 0) query = query.where("operation_id", "not in", options.except);
  return query.returningAll().execute();
};

/** Awake computers of this node with something that may have changed by itself: running processes, or services, also ones that were removed. */
export const listWatched = async (db: Database, nodeId: string): Promise<readonly Computer[]> =>
  (
    await db
      .selectFrom("computers")
      .selectAll()
      .where("node_id", "=", nodeId)
      .where("state", "=", "awake")
      .where("desired_state", "=", "awake")
      .where((where) =>
        where.or([
          where.exists(
            where
              .selectFrom("processes")
              .select("processes.id")
              .whereRef("processes.computer_id", "=", "computers.id")
              .where("processes.state", "<>", "ended"),
          ),
          where("services_revision", ">", 1),
        ]),
      )
      .execute()
  ).map(toComputer);

/** Keeps the newest `kept` ended processes of each computer, as the agent does. */
export const pruneProcesses = async (db: Database, kept: number): Promise<void> => {
  await sql`
    delete from processes where state = 'ended' and id in (
      select id from (
        select id, row_number() over (partition by computer_id order by id desc) as place from processes
      ) as placed
      where place > ${kept}
    )`.execute(db);
};
