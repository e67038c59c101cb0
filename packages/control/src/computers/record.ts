import type { Clock, CrashPoint } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import { observeComputer, type Observed } from "../store/computers.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import { computerEvent, type EventWords } from "./events.ts";

export interface RecordParts {
  readonly store: Store;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface Moved {
  readonly computer: Computer;
  /** Not before this long from now should the next move be made. */
  readonly delayMs?: number;
}

/** What a move tells of itself. `kind`: of the event; null: it is no news. */
export interface Told extends EventWords {
  readonly kind: string | null;
}

/** Writes what is so now, in one transaction with the event that tells of it and with `also`. */
export const recordMove = async (
  parts: RecordParts,
  computer: Computer,
  seen: Observed,
  told: Told,
  also?: (transaction: Transaction) => Promise<void>,
): Promise<Moved> => {
  const { store, events, clock, crashPoint } = parts;
  const { kind, ...words } = told;
  // A change of what is desired is only ours to make while the wish that led here stands.
  const whileDesired = seen.desiredState === undefined ? undefined : computer.desiredState;
  const written = await store.transaction(async (transaction) => {
    const [row] = await Promise.all([
      observeComputer(transaction, computer.id, seen, clock.now(), whileDesired),
      kind === null
        ? undefined
        : events.append(transaction, computerEvent(computer, kind, { reason: seen.reason, ...words })),
      also?.(transaction),
    ]);
    return row;
  });
  crashPoint("computer-recorded");
  return { computer: written ?? computer };
};
