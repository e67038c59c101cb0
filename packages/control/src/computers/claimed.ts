import { type ComputerSize, limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, RpcClient } from "@holdfast/kit";
import type { Compilable } from "kysely";
import type { Computer } from "../domain/computer.ts";
import type { Claimed } from "../domain/warm.ts";
import { eventValues } from "../store/events.ts";
import type { Database } from "../store/transaction.ts";
import { recordClaimed } from "../store/warm.ts";
import { computerEvent } from "./events.ts";

export interface ClaimedParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

/** A creation that is done but for its commit. */
export interface TakenUp {
  /** As it is once `record` is committed. */
  readonly computer: Computer;
  /** Travels with the admission, so that such a creation costs one commit. */
  readonly record: (db: Database) => readonly Compilable[];
}

/** The transaction holds its assistant's lock while the supervisor is asked, which takes a millisecond or two. */
const takeUpMs = 1_000;

/**
 * The short way of a creation that has a warm cell: the supervisor makes the cell an ordinary one, and that is all. Nothing is asked of its
 * agent, as of no new computer's. False when it is not the cell that was claimed, or cannot be had now: then the reconciler makes the
 * computer as any other, from what the row says. Where the creation does not come about after this, the cell is neither warm nor anybody's,
 * and the pool destroys it.
 */
export const takeUp = async (
  { supervisor, crashPoint }: ClaimedParts,
  { id, cellId }: Claimed,
  size: ComputerSize,
): Promise<boolean> => {
  crashPoint("computer-before-claimed");
  const isTheSame = await supervisor
    .call("cell.start", { computer_id: id, size, lease_ms: limits.leaseMs }, { timeoutMs: takeUpMs })
    .then(
      ({ cell }) => cell.cell_id === cellId,
      () => false,
    );
  crashPoint("computer-claimed");
  return isTheSame;
};

export const takenUp = ({ clock }: ClaimedParts, computer: Computer, { cellId }: Claimed): TakenUp => {
  const nowMs = clock.now();
  const awake: Computer = {
    ...computer,
    state: "awake",
    awakeSinceMs: nowMs,
    stateSinceMs: nowMs,
    updatedAtMs: nowMs,
  };
  const event = eventValues(computerEvent(awake, "awake"), nowMs);
  return {
    computer: awake,
    record: (db) => [recordClaimed(db, { id: computer.id, cellId, nowMs }, event)],
  };
};
