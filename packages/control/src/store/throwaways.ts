import type { Database } from "./transaction.ts";

/** Written down before anything of it is made. */
export const insertThrowaway = async (
  db: Database,
  row: {
    readonly computerId: string;
    readonly nodeId: string;
    readonly purpose: string;
    readonly nowMs: number;
  },
): Promise<void> => {
  await db
    .insertInto("throwaways")
    .values({
      computer_id: row.computerId,
      node_id: row.nodeId,
      purpose: row.purpose,
      created_at_ms: row.nowMs,
    })
    .execute();
};

/** After nothing of it is left on the host. */
export const deleteThrowaway = async (db: Database, computerId: string): Promise<void> => {
  await db.deleteFrom("throwaways").where("computer_id", "=", computerId).execute();
};

/** Of one node, the oldest first. */
export const listThrowaways = async (
  db: Database,
  nodeId: string,
  most: number,
): Promise<readonly { readonly computerId: string; readonly purpose: string }[]> => {
  const rows = await db
    .selectFrom("throwaways")
    .select(["computer_id", "purpose"])
    .where("node_id", "=", nodeId)
    .orderBy("created_at_ms")
    .orderBy("computer_id")
    .limit(most)
    .execute();
  return rows.map(({ computer_id, purpose }) => ({ computerId: computer_id, purpose }));
};
