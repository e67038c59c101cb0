import type { ServerResponse } from "node:http";
import type { Clock } from "@holdfast/kit";

/** A reader that takes nothing for this long is gone. */
const stalledMs = 60_000;
const everyMs = 1_000;
/** Bytes of replies that were made and that their readers have not taken, over all connections. */
const mostBytes = 256 * 1024 * 1024;

export interface Unsent {
  /** Looks after a reply from before it is begun until it is over. */
  watch(outgoing: ServerResponse): void;
  /** Ends what is not taken. Called by itself every second while there are replies. */
  sweep(): void;
}

/**
 * What is made for a caller leaves its account when it was handed over: one who asks and does not read, on one connection after the other,
 * would have control hold it all. Connections that take nothing are ended, and where all hold too much, those that hold the most.
 */
export const createUnsent = (clock: Clock, most: number = mostBytes): Unsent => {
  const open = new Map<ServerResponse, { sent: number; since: number }>();
  let waiting = false;

  const schedule = (): void => {
    if (waiting || open.size === 0) return;
    waiting = true;
    clock.after(everyMs, () => {
      waiting = false;
      sweep();
      schedule();
    });
  };

  const sweep = (): void => {
    const now = clock.monotonic();
    const holding: { readonly outgoing: ServerResponse; readonly bytes: number }[] = [];
    let total = 0;
    for (const [outgoing, seen] of open) {
      const bytes = outgoing.writableLength;
      const { socket } = outgoing.req;
      const sent = socket.bytesWritten - socket.writableLength;
      if (bytes === 0 || sent !== seen.sent) Object.assign(seen, { sent, since: now });
      else if (now - seen.since >= stalledMs) {
        socket.destroy();
        continue;
      }
      total += bytes;
      holding.push({ outgoing, bytes });
    }
    if (total <= most) return;
    for (const { outgoing, bytes } of holding.toSorted((one, other) => other.bytes - one.bytes)) {
      outgoing.req.socket.destroy();
      total -= bytes;
      if (total <= most) return;
    }
  };

  return {
    watch: (outgoing) => {
      open.set(outgoing, { sent: 0, since: clock.monotonic() });
      outgoing.once("close", () => open.delete(outgoing));
      schedule();
    },
    sweep,
  };
};
