import { type ComputerSize, HoldfastError } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Principal } from "../domain/principal.ts";
import type { Claimed, WarmCells } from "../domain/warm.ts";
import {
  computerNameIndex,
  insertComputer,
  type LifecycleValues,
  type NewComputer,
} from "../store/computers.ts";
import { isUniqueViolation } from "../store/errors.ts";
import type { Transaction } from "../store/transaction.ts";
import { computerEvent } from "./events.ts";

export interface AdmissionParts {
  readonly ceilings: CeilingCheck;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly nodeId: string;
}

export interface WantedComputer
  extends Pick<NewComputer, "parentId" | "delegatorId" | "originSnapshotId" | "filling"> {
  /** Who asks for it: its ceilings hold, and it is its own unless `principalId` says otherwise. */
  readonly principal: Principal;
  readonly principalId?: string;
  /** Default: a new one. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly size: ComputerSize;
  readonly description: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly lifecycle?: LifecycleValues;
  /** Asked for a cell that runs already. */
  readonly claim?: WarmCells["claim"];
  /** Called with that cell as soon as nothing can be in the way but the database. */
  readonly claimed?: (cell: Claimed) => void;
  /** Default: it is durable. */
  readonly lifetimeMs?: number | undefined;
}

/** Writes a new computer down, wanted awake. Throws `ceiling_reached` and `name_taken`; then the transaction is given up. */
export const admitComputer = async (
  { ceilings, events, ids, clock, nodeId }: AdmissionParts,
  transaction: Transaction,
  { principal, principalId, id, lifetimeMs, claim, claimed: take, ...wanted }: WantedComputer,
): Promise<Computer> => {
  // In one flight.
  const [, claimed] = await Promise.all([
    ceilings.createComputer(transaction, principal, wanted),
    claim?.(transaction, wanted.size),
  ]);
  const nowMs = clock.now();
  const row: NewComputer = {
    ...wanted,
    id: id ?? claimed?.id ?? ids("computer"),
    warm: claimed,
    accountId: principal.accountId,
    nodeId,
    principalId: principalId ?? principal.id,
    expiresAtMs: lifetimeMs === undefined ? null : nowMs + lifetimeMs,
    nowMs,
  };
  try {
    // In one flight, too. Where the first is refused the second only says that the transaction is over, and may be heard sooner.
    const inserted = insertComputer(transaction, row);
    const told = events.append(transaction, computerEvent({ ...row, cause: "asked" }, "created"));
    told.catch(() => {});
    const computer = await inserted;
    if (claimed) take?.(claimed);
    await told;
    return computer;
  } catch (error) {
    throw nameTaken(error, wanted.name);
  }
};

export const nameTaken = (error: unknown, name: string): unknown =>
  isUniqueViolation(error, computerNameIndex)
    ? new HoldfastError("name_taken", `you have a computer called ${name} already`, { name })
    : error;
