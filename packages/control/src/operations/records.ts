import { idPattern } from "@holdfast/contract";
import type { Handlers, ServerEvent } from "../domain/handler.ts";
import type { EventFeed, FeedItem } from "../events/feed.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { timestamp } from "../lib/timestamp.ts";
import type { EventRow } from "../store/events.ts";
import { listRecords } from "../store/records.ts";
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
      const rows = await listRecords(parts.db, {
        accountId: principal.accountId,
        principalId: principal.kind === "owner" ? null : principal.id,
        target: params.target,
        operation: params.operation,
        outcome: params.outcome,
        before: decodeCursor(params.cursor, idPattern("operation")),
        limit: params.limit + 1,
      });
      const page = pageOf(rows, params.limit, (row) => row.id);
      return { output: { records: page.rows.map(recordViewOf), next_cursor: page.nextCursor } };
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
