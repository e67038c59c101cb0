import { idPattern } from "@holdfast/contract";
import type { Handlers, ServerEvent } from "../domain/handler.ts";
import type { EventFeed, FeedItem } from "../events/feed.ts";
import { decodeCursor, encodeCursor, pageOf } from "../lib/cursor.ts";
import { timestamp } from "../lib/timestamp.ts";
import type { EventRow } from "../store/events.ts";
import { listRecords, type RecordFilter, searchPause } from "../store/records.ts";
import type { Database } from "../store/transaction.ts";
import type { Principal } from "../domain/principal.ts";
import { recordViewOf } from "./views.ts";

export const recordHandlers = (parts: {
  readonly db: Database;
  readonly feed: EventFeed;
}): Handlers<"record.list" | "event.stream"> => ({
  "record.list": {
    run: async (context, params) => {
      const { principal } = context;
      const { rows, pausedAt } = await search(parts.db, {
        accountId: principal.accountId,
        principalId: principal.kind === "owner" ? null : principal.id,
        target: params.target,
        operation: params.operation,
        outcome: params.outcome,
        before: decodeCursor(params.cursor, idPattern("operation")),
        limit: params.limit + 1,
      });
      const page = pageOf(rows, params.limit, (row) => row.id);
      const next = page.nextCursor ?? (pausedAt === undefined ? null : encodeCursor(pausedAt));
      return { output: { records: page.rows.map(recordViewOf), next_cursor: next } };
    },
  },
  "event.stream": {
    run: async (context, params) => {
      const resumed = /^[0-9]{1,15}$/.test(context.lastEventId ?? "")
        ? Number(context.lastEventId)
        : undefined;
      const items = await parts.feed.follow(resumed ?? params.after, context.signal);
      return { events: visibleEvents(items, context.principal, params.computer) };
    },
  },
});

/** Records looked at in one statement, and statements for one page: whoever asks for what there is none of must not keep the database busy. */
const searched = 10_000;
const searches = 10;

/** `pausedAt`: it found less than a page, and has not looked at anything before this id. */
const search = async (
  db: Database,
  filter: RecordFilter,
): Promise<{ readonly rows: Awaited<ReturnType<typeof listRecords>>; readonly pausedAt?: string }> => {
  const filtered = [filter.target, filter.operation, filter.outcome].some((value) => value !== undefined);
  if (!filtered) return { rows: await listRecords(db, filter) };
  const rows: Awaited<ReturnType<typeof listRecords>> = [];
  let { before } = filter;
  for (let round = 0; round < searches; round += 1) {
    const part = { ...filter, before, limit: filter.limit - rows.length };
    const from = await searchPause(db, part, searched);
    rows.push(...(await listRecords(db, { ...part, from })));
    if (from === undefined || rows.length >= filter.limit) return { rows };
    before = from;
  }
  return before === undefined ? { rows } : { rows, pausedAt: before };
};

async function* visibleEvents(
  items: AsyncIterable<FeedItem>,
  principal: Principal,
  computer: string | undefined,
): AsyncGenerator<ServerEvent> {
  for await (const item of items) {
    if ("missed" in item) {
      yield { event: "missed", data: { events: item.missed } };
      continue;
    }
    const { event } = item;
    if (!maySee(principal, event) || (computer !== undefined && event.computer_id !== computer)) continue;
    yield {
      id: String(event.number),
      event: event.kind,
      data: {
        id: event.number,
        kind: event.kind,
        target: event.target,
        at: timestamp(event.at_ms),
        data: event.data,
      },
    };
  }
}

const maySee = (principal: Principal, event: EventRow): boolean =>
  event.account_id === principal.accountId &&
  (principal.kind === "owner" || event.visible_to === principal.id);
