import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { HoldfastError } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { BytesResult, EventsResult, ServerEvent } from "../../domain/handler.ts";
import { orAborted } from "../../lib/abort.ts";
import { encodeEvent, keepAlive, keepAliveMs } from "../events/sse.ts";

/** A reader that takes nothing for this long is gone. */
const stalledMs = 60_000;

interface Parts {
  readonly clock: Clock;
  readonly logger: Logger;
}

type Headers = Readonly<Record<string, string>>;

/** Streams to the caller at the caller's pace. A source that fails breaks the connection off, so that a part is never taken for the whole. */
export const sendBytes = async (
  parts: Parts,
  outgoing: ServerResponse,
  result: BytesResult,
  headers: Headers,
  headOnly: boolean,
): Promise<void> => {
  const status = result.range ? 206 : 200;
  outgoing.writeHead(status, {
    ...headers,
    "content-type": result.contentType,
    "x-content-type-options": "nosniff",
    ...(result.lengthBytes === undefined ? {} : { "content-length": String(result.lengthBytes) }),
    ...(result.range
      ? { "content-range": `bytes ${result.range.first}-${result.range.last}/${result.range.totalBytes}` }
      : {}),
  });
  await pour(parts, outgoing, result.bytes, headOnly);
};

export const sendEvents = async (
  parts: Parts,
  outgoing: ServerResponse,
  result: EventsResult,
  headers: Headers,
): Promise<void> => {
  outgoing.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  outgoing.write(": open\n\n");
  let cancel = (): void => {};
  const beat = (): void => {
    cancel = parts.clock.after(keepAliveMs, () => {
      // A reader that is behind has bytes waiting already: nothing to keep alive, nothing to add.
      if (!outgoing.writableNeedDrain) outgoing.write(keepAlive);
      beat();
    });
  };
  beat();
  try {
    await pour(parts, outgoing, encoded(untilRefused(result.events)), false);
  } finally {
    cancel();
  }
};

/**
 * Events are resumed from the last one seen, so a stream that control or its caller's key ends is over like any other, where bytes would
 * break off.
 */
async function* untilRefused(events: EventsResult["events"]): AsyncGenerator<ServerEvent> {
  try {
    yield* events;
  } catch (error) {
    if (!(error instanceof HoldfastError && endings.has(error.code))) throw error;
  }
}

const endings: ReadonlySet<string> = new Set(["unavailable", "unauthenticated", "forbidden"]);

async function* encoded(events: EventsResult["events"]): AsyncGenerator<string> {
  for await (const event of events) yield encodeEvent(event);
}

const pour = async (
  parts: Parts,
  outgoing: ServerResponse,
  source: AsyncIterable<Uint8Array | string>,
  headOnly: boolean,
): Promise<void> => {
  const iterator = source[Symbol.asyncIterator]();
  const closed = new AbortController();
  const close = (): void => closed.abort();
  outgoing.once("close", close);
  if (outgoing.destroyed) closed.abort();
  try {
    while (!headOnly && !closed.signal.aborted) {
      const item = await orAborted(iterator.next(), closed.signal);
      if (item === "aborted" || item.done) break;
      if (!outgoing.write(item.value)) await drained(parts, outgoing, closed.signal);
    }
    if (!closed.signal.aborted) outgoing.end();
  } catch (error) {
    const known = error instanceof HoldfastError;
    parts.logger[known ? "info" : "error"]("a streamed reply broke off", { error });
    outgoing.destroy();
  } finally {
    outgoing.removeListener("close", close);
    await iterator.return?.();
  }
};

const drained = async (parts: Parts, outgoing: ServerResponse, closed: AbortSignal): Promise<void> => {
  const cancel = parts.clock.after(stalledMs, () => outgoing.destroy());
  try {
    await once(outgoing, "drain", { signal: closed });
  } catch {
    // Closed: the caller of this sees it.
  } finally {
    cancel();
  }
};
