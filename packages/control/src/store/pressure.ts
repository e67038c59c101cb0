import type { Computer } from "../domain/computer.ts";
import { toComputer } from "./computer-row.ts";
import type { Database } from "./transaction.ts";

/** Awake ones of this node that may be put to sleep, those first that were used longest ago as far as is written down. */
export const listRestable = async (
  db: Database,
  nodeId: string,
  limit: number,
): Promise<readonly Computer[]> =>
  (
    await settledIn(db, nodeId, "awake")
      .where("keep_awake", "=", false)
      .orderBy("active_at_ms")
      .limit(limit)
      .execute()
  ).map(toComputer);

/** Those of this node that sleep, the longest asleep first. */
export const listSleeping = async (
  db: Database,
  nodeId: string,
  limit: number,
): Promise<readonly Computer[]> =>
  (await settledIn(db, nodeId, "asleep").orderBy("state_since_ms").limit(limit).execute()).map(toComputer);

/** Those that are in this state and are to be. */
const settledIn = (db: Database, nodeId: string, state: "awake" | "asleep") =>
  db
    .selectFrom("computers")
    .selectAll()
    .where("node_id", "=", nodeId)
    .where("state", "=", state)
    .where("desired_state", "=", state);
