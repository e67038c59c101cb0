import type { Cause, Computer } from "../domain/computer.ts";
import { forksOfRuns } from "../store/children.ts";
import { desire } from "../store/computers.ts";
import { lockFamily } from "../store/lifecycle.ts";
import { destroyProjects, touchRoute } from "../store/projects.ts";
import type { Transaction } from "../store/transaction.ts";

/**
 * Wants a computer destroyed, its children with it, and what runs of these go on in: all of them or none. The addresses of their projects are
 * closed at once. Answers the rows that are wanted destroyed from now on, the computer's own last; none where it was so already.
 */
export const destroyWithChildren = async (
  transaction: Transaction,
  computerId: string,
  nowMs: number,
  cause: Cause,
): Promise<readonly Computer[]> => {
  const gone: Computer[] = [];
  for (const member of await lockFamily(transaction, computerId)) {
    const why = member.id === computerId ? cause : "parent_destroyed";
    // Its runs are forgotten with it, and with them what they go on in.
    for (const id of await forksOfRuns(transaction, member.id))
      gone.push(...(await destroyWithChildren(transaction, id, nowMs, "parent_destroyed")));
    const row = await desire(transaction, member.id, "destroyed", nowMs, why);
    if (!row) continue;
    gone.push(row);
    const projects = await destroyProjects(transaction, { computerId: member.id }, nowMs);
    await touchRoute(transaction, ...projects.map(({ id }) => id));
  }
  return gone;
};
