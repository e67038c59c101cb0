import { limits } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { Authority } from "./authority/identify.ts";
import type { Reconciliation } from "./dispatch/reconcile.ts";
import { Loop } from "./lib/loop.ts";
import { deleteOldAttempts } from "./store/attempts.ts";
import { deleteOldEvents } from "./store/events.ts";
import { deleteExpiredKeys } from "./store/idempotency.ts";
import { deleteOldSessions } from "./store/owners.ts";
import { deleteOldRecords } from "./store/records.ts";
import type { Store } from "./store/transaction.ts";

/** Operations whose admission or outcome was lost with a database connection wait at most this long for reconciliation. */
const everyMs = 2000;
/** The rest is done every so many rounds. */
const cleaningRounds = 15;
/** Ended and expired sessions are kept this long, for the records that name them. */
const sessionsKeptMs = 30 * 24 * 3600 * 1000;

/**
 * What has to be done now and then, in one loop. A job queue in the database was considered for it: nothing here has to be spread over
 * hosts or survive a restart, each round finds its work in our own tables, and a queue would keep its locks for hours after a `kill -9`.
 */
export const createHousekeeping = (parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authority: Authority;
  readonly reconciliation: Reconciliation;
  /** What the modules forget. */
  readonly cleaners: readonly (() => Promise<void>)[];
}): { start(): void; stop(): Promise<void> } => {
  const clean = async (signal: AbortSignal): Promise<void> => {
    const { db } = parts.store;
    const nowMs = parts.clock.now();
    await parts.authority.flushUses();
    await deleteExpiredKeys(db, nowMs);
    await deleteOldAttempts(db, nowMs - limits.loginWindowMs);
    await deleteOldSessions(db, nowMs - sessionsKeptMs);
    while (!signal.aborted && (await deleteOldRecords(db, nowMs - limits.recordsKeptMs)));
    await deleteOldEvents(db, limits.eventsKept);
    for (const cleaner of parts.cleaners) await cleaner();
  };

  const { clock, logger } = parts;
  let rounds = 0;
  return new Loop({ what: "housekeeping", everyMs, restsFirst: true, clock, logger }, async (signal) => {
    rounds += 1;
    await parts.reconciliation.pass();
    if (rounds % cleaningRounds === 0) await clean(signal);
  });
};
