import type { Clock } from "@holdfast/kit";
import { keptUntil } from "../store/lifecycle.ts";
import { listRestable, listSleeping } from "../store/pressure.ts";
import type { Database } from "../store/transaction.ts";
import type { Candidates } from "./pressure.ts";

/** Looked at in one round; the next sees those that are left. */
const mostRows = 500;

/** What may be taken back from the computers of this node. */
export const candidatesOf = (db: Database, nodeId: string, clock: Pick<Clock, "now">): Candidates => ({
  awake: () => listRestable(db, nodeId, mostRows),
  asleep: () => listSleeping(db, nodeId, mostRows),
  held: async (ids) => {
    if (ids.length === 0) return new Set();
    const nowMs = clock.now();
    const kept = await keptUntil(db, ids, nowMs);
    return new Set(kept.filter(({ untilMs }) => untilMs >= nowMs).map(({ computerId }) => computerId));
  },
});
