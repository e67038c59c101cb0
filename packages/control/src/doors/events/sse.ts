import type { ServerEvent } from "../../domain/handler.ts";

/** One event as `text/event-stream` (WHATWG HTML §9.2). Data is JSON on one line, so no content can forge a field. */
export const encodeEvent = (event: ServerEvent): string => {
  const id = event.id === undefined ? "" : `id: ${clean(event.id)}\n`;
  return `${id}event: ${clean(event.event)}\ndata: ${JSON.stringify(event.data)}\n\n`;
};

/** Sent while nothing happens, so that proxies keep the connection and a dead peer is noticed. */
export const keepAlive = ": keep-alive\n\n";
export const keepAliveMs = 15_000;

const clean = (field: string): string => field.replaceAll(/[\r\n\0]/g, "");
