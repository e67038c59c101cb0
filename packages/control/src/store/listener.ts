import type { Clock, Logger } from "@holdfast/kit";
import pg from "pg";
import { clientConfig } from "./open.ts";

export interface Listener {
  /** Calls back for each notification, and with `null` after a connection was (re)made: something may have been missed. */
  on(channel: string, callback: (payload: string | null) => void): void;
  /** Connects, and keeps connecting, until `stop`. Resolves at once. */
  start(): void;
  readonly connected: () => boolean;
  stop(): Promise<void>;
}

const retryMs = 100;

/** One connection that only listens. Channels are registered before `start`. */
export const createListener = (parts: {
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
}): Listener => {
  const callbacks = new Map<string, ((payload: string | null) => void)[]>();
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let connected = false;
  let loop: Promise<void> = Promise.resolve();

  const call = (channel: string, payload: string | null): void => {
    for (const callback of callbacks.get(channel) ?? []) callback(payload);
  };

  /** Resolves when the connection has ended. */
  const listenOnce = async (): Promise<void> => {
    const fresh = new pg.Client(clientConfig(parts.url));
    client = fresh;
    const ended = new Promise<void>((resolve) => {
      fresh.on("error", () => resolve());
      fresh.on("end", () => resolve());
    });
    try {
      await fresh.connect();
      fresh.on("notification", (message) => call(message.channel, message.payload ?? ""));
      for (const channel of callbacks.keys()) await fresh.query(`listen ${channel}`);
      connected = true;
      for (const channel of callbacks.keys()) call(channel, null);
      await ended;
    } finally {
      connected = false;
      await fresh.end().catch(() => {});
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await listenOnce().catch((error: unknown) => {
        parts.logger.debug("the database listener could not connect", { error });
      });
      await parts.clock.sleep(retryMs, stopping.signal).catch(() => {});
    }
  };

  return {
    on: (channel, callback) => {
      callbacks.set(channel, [...(callbacks.get(channel) ?? []), callback]);
    },
    start: () => {
      loop = run();
    },
    connected: () => connected,
    stop: async () => {
      stopping.abort();
      await client?.end().catch(() => {});
      await loop;
    },
  };
};
