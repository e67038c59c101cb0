import type { Computer } from "../domain/computer.ts";
import { toComputer } from "./computers.ts";
import type { Database } from "./transaction.ts";

/** Awake ones of this node that may be put to sleep, those first that were used longest ago as far as is written down. */
export const listRestable = async (
  db: Database,
  nodeId: string,
  limit: number,
): Promise<readonly Computer[]> =>
  (
    await db
      .selectFrom("computers")
      .selectAll()
      .where("node_id", "=", nodeId)
      .where("state", "=", "awake")
      .where("desired_state", "=", "awake")
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
  (
    await db
      .selectFrom("computers")
      .selectAll()
      .where("node_id", "=", nodeId)
      .where("state", "=", "asleep")
      .where("desired_state", "=", "asleep")
      .orderBy("state_since_ms")
      .limit(limit)
      .execute()
  ).map(toComputer);
