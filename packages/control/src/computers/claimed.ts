import { limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, RpcClient } from "@holdfast/kit";
import type { Compilable } from "kysely";
import type { Computer } from "../domain/computer.ts";
import { observeComputer } from "../store/computers.ts";
import { eventValues } from "../store/events.ts";
import type { Database } from "../store/transaction.ts";
import { recordClaimed } from "../store/warm.ts";
import { computerEvent } from "./events.ts";

export interface ClaimedParts {
  readonly db: Database;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

/** A creation that is done but for its commit. */
export interface TakenUp {
  /** As it is once `record` is committed. */
  readonly computer: Computer;
  /** Travels with the outcome, so that a creation costs no third commit. */
  readonly record: (db: Database) => readonly Compilable[];
}

/**
 * The short way of a creation that has a warm cell: the supervisor makes the cell an ordinary one, and that is all. Nothing is asked of its
 * agent, as of no new computer's. Undefined when it is not the cell that was claimed, or cannot be had now: then the reconciler makes the
 * computer as any other, from what the row says. So it does after a crash anywhere here.
 */
export const takeUp = async (parts: ClaimedParts, computer: Computer): Promise<TakenUp | undefined> => {
  const { db, supervisor, clock, crashPoint } = parts;
  const { id, size, cellId, state } = computer;
  if (cellId === null || state !== "creating") return undefined;
  crashPoint("computer-before-claimed");
  const isTheSame = async (): Promise<boolean> => {
    const { cell } = await supervisor.call("cell.start", {
      computer_id: id,
      size,
      lease_ms: limits.leaseMs,
    });
    if (cell.cell_id === cellId) return true;
    // It was made anew, of a newer image perhaps.
    const { image } = await supervisor.call("volume.create", { computer_id: id, size });
    await observeComputer(db, id, { image, cellId: cell.cell_id }, clock.now());
    return false;
  };
  if (!(await isTheSame().catch(() => false))) return undefined;
  crashPoint("computer-claimed");
  const nowMs = clock.now();
  const awake: Computer = {
    ...computer,
    state: "awake",
    awakeSinceMs: nowMs,
    stateSinceMs: nowMs,
    updatedAtMs: nowMs,
  };
  const event = eventValues(computerEvent(awake, "awake"), nowMs);
  return { computer: awake, record: (database) => [recordClaimed(database, { id, cellId, nowMs }, event)] };
};
