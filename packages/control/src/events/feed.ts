import type { Clock, Logger } from "@holdfast/kit";
import { orAborted } from "../lib/abort.ts";
import { type EventRow, eventRange, eventsChannel, listEventsAfter, numberEvents } from "../store/events.ts";
import type { Listener } from "../store/listener.ts";
import type { Store } from "../store/transaction.ts";

export type FeedItem = { readonly event: EventRow } | { readonly missed: number };

export interface EventFeed {
  /**
   * Events after `after`, as they come, until the signal aborts. Undefined: everything that is told after this has resolved. `missed` comes
   * first when some are kept no more.
   */
  follow(after: number | undefined, signal: AbortSignal): Promise<AsyncIterable<FeedItem>>;
  start(): void;
  stop(): Promise<void>;
}

const page = 500;
const recentLimit = 1000;
/** Without a notification (none came, or the listener is away) the table is looked at this often while anybody follows. */
const idleMs = 2000;
/** Changes of a burst are numbered together: numbering is a durable statement of its own. */
const gatherMs = 10;
/** While nobody follows: numbering each exec's events at once would cost it a third of its time. */
const quietGatherMs = 500;

/**
 * Numbers committed events and hands them to followers. A follower that keeps up is served from memory, one that lags from the table, so a
 * slow reader holds nothing up and nothing in memory.
 */
export const createEventFeed = (parts: {
  readonly store: Store;
  readonly listener: Listener;
  readonly clock: Clock;
  readonly logger: Logger;
}): EventFeed => {
  const stopping = new AbortController();
  let recent: EventRow[] = [];
  let last = 0;
  let wake = Promise.withResolvers<void>();
  let changed = Promise.withResolvers<void>();
  let loop: Promise<void> = Promise.resolve();
  let followers = 0;
  let arrived = (): void => {};
  parts.listener.on(eventsChannel, () => wake.resolve());

  const pump = async (): Promise<void> => {
    await numberEvents(parts.store);
    for (;;) {
      const rows = await listEventsAfter(parts.store.db, last, page);
      const newest = rows.at(-1);
      if (!newest) return;
      last = newest.number;
      recent = [...recent, ...rows].slice(-recentLimit);
      const told = changed;
      changed = Promise.withResolvers();
      told.resolve();
    }
  };

  const run = async (): Promise<void> => {
    let started = false;
    while (!stopping.signal.aborted) {
      try {
        if (!started) last = (await eventRange(parts.store.db)).last;
        started = true;
        await pump();
      } catch (error) {
        parts.logger.debug("events wait for the database", { error });
      }
      const idle = new AbortController();
      await Promise.race([wake.promise, parts.clock.sleep(idleMs, idle.signal).catch(() => {})]);
      idle.abort();
      const gathered = new AbortController();
      arrived = () => gathered.abort();
      if (followers === 0)
        await parts.clock
          .sleep(quietGatherMs, AbortSignal.any([gathered.signal, stopping.signal]))
          .catch(() => {});
      await parts.clock.sleep(gatherMs, stopping.signal).catch(() => {});
      wake = Promise.withResolvers();
    }
  };

  const next = async (after: number): Promise<readonly EventRow[]> => {
    const [oldest] = recent;
    if (oldest && oldest.number <= after + 1) return recent.filter((row) => row.number > after);
    return listEventsAfter(parts.store.db, after, page);
  };

  const follow = async (after: number | undefined, signal: AbortSignal): Promise<AsyncIterable<FeedItem>> => {
    const range = await eventRange(parts.store.db);
    const position = after === undefined || after > range.last ? range.last : after;
    const missed = Math.max(0, range.first - position - 1);
    return items(position + missed, missed, signal);
  };

  async function* items(from: number, missed: number, signal: AbortSignal): AsyncGenerator<FeedItem> {
    let position = from;
    followers += 1;
    arrived();
    try {
      if (missed > 0) yield { missed };
      while (!signal.aborted) {
        const more = changed.promise;
        const rows = position < last || last === 0 ? await next(position) : [];
        for (const event of rows) {
          position = event.number;
          yield { event };
        }
        if (rows.length === 0) await orAborted(more, signal);
      }
    } finally {
      followers -= 1;
    }
  }

  return {
    follow,
    start: () => {
      loop = run();
    },
    stop: async () => {
      stopping.abort();
      wake.resolve();
      await loop;
    },
  };
};
