import type { ComputerSize } from "@holdfast/contract";
import { type Compilable, type Selectable, sql } from "kysely";
import type { Claimed, WarmKind } from "../domain/warm.ts";
import { type EventValues, eventsChannel } from "./events.ts";
import type { Tables } from "./tables/index.ts";
import type { Database, Transaction } from "./transaction.ts";

export type WarmRow = Selectable<Tables["warm_cells"]>;

/** The oldest that is ready and not being taken; its row is gone with the commit. */
export const claimWarm = async (
  transaction: Transaction,
  wanted: { readonly nodeId: string; readonly size: ComputerSize; readonly kind: WarmKind },
): Promise<Claimed | undefined> => {
  const { nodeId, size, kind } = wanted;
  const { rows } = await sql<{ computer_id: string; image: string; cell_id: string }>`
    delete from warm_cells where computer_id = (
      select computer_id from warm_cells
      where node_id = ${nodeId} and size = ${size} and state = 'ready' and image = ${kind.image} and policy = ${kind.policy}
      order by made_at_ms, computer_id limit 1 for update skip locked)
    returning computer_id, image, cell_id`.execute(transaction);
  const [row] = rows;
  return row && { id: row.computer_id, image: row.image, cellId: row.cell_id };
};

export const insertMaking = async (
  db: Database,
  row: {
    readonly id: string;
    readonly nodeId: string;
    readonly size: ComputerSize;
    readonly kind: WarmKind;
    readonly nowMs: number;
  },
): Promise<void> => {
  await db
    .insertInto("warm_cells")
    .values({
      computer_id: row.id,
      node_id: row.nodeId,
      size: row.size,
      state: "making",
      image: row.kind.image,
      policy: row.kind.policy,
      cell_id: null,
      made_at_ms: row.nowMs,
    })
    .execute();
};

export const markReady = async (
  db: Database,
  id: string,
  made: { readonly image: string; readonly cellId: string },
): Promise<void> => {
  await db
    .updateTable("warm_cells")
    .set({ state: "ready", image: made.image, cell_id: made.cellId })
    .where("computer_id", "=", id)
    .where("state", "=", "making")
    .execute();
};

/** False when it is a computer's by now. */
export const markGoing = async (db: Database, id: string): Promise<boolean> => {
  const { numUpdatedRows } = await db
    .updateTable("warm_cells")
    .set({ state: "going" })
    .where("computer_id", "=", id)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
};

export const deleteGoing = async (db: Database, id: string): Promise<void> => {
  await db.deleteFrom("warm_cells").where("computer_id", "=", id).where("state", "=", "going").execute();
};

/** Oldest first. */
export const listWarm = (db: Database, nodeId: string): Promise<WarmRow[]> =>
  db
    .selectFrom("warm_cells")
    .selectAll()
    .where("node_id", "=", nodeId)
    .orderBy("made_at_ms")
    .orderBy("computer_id")
    .execute();

/**
 * That a creation's cell serves, to travel with the commit of its outcome: the computer is awake, and the event tells of it. Nothing of
 * both when the reconciler has written it already, or something else is wanted by now.
 */
export const recordClaimed = (
  db: Database,
  computer: { readonly id: string; readonly cellId: string; readonly nowMs: number },
  event: EventValues,
): Compilable => {
  const { id, cellId, nowMs } = computer;
  const statement = sql`
    with awake as (
      update computers
      set state = 'awake', awake_since_ms = ${nowMs}, state_since_ms = ${nowMs}, updated_at_ms = ${nowMs}, attempts = 0, reason = null,
        failure_code = null
      where id = ${id} and state = 'creating' and desired_state = 'awake' and cell_id = ${cellId}
      returning id
    ), told as (
      insert into events (account_id, kind, target, computer_id, visible_to, at_ms, data)
      select ${event.account_id}, ${event.kind}, ${event.target}, ${event.computer_id}, ${event.visible_to}, ${event.at_ms}::bigint,
        ${JSON.stringify(event.data)}::jsonb
      from awake
    )
    select pg_notify(${eventsChannel}, '') from awake`;
  return { compile: () => statement.compile(db) };
};
