import { HoldfastError } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { Authority } from "../authority/identify.ts";
import type { Result, TerminalConnection } from "../domain/handler.ts";

/** How often the credentials of open streams are looked at again; an ended one is refused within a second. */
const recheckMs = 500;

export interface Streams {
  /** A signal for one request. With a credential it also aborts when that ends (open streams); `end` lets go of everything. */
  follow(
    credentialId: string | null,
    ...signals: AbortSignal[]
  ): { readonly signal: AbortSignal; end(): void };
  /** The same result, telling `ended` once when its stream is over: with the error it failed with, if any. */
  untilEnd(result: Result, ended: (error: unknown) => Promise<void>): Result;
  stop(): void;
}

export const createStreams = (parts: {
  readonly authority: Authority;
  readonly clock: Clock;
  readonly logger: Logger;
}): Streams => {
  const open = new Map<string, Set<AbortController>>();
  let cancel: (() => void) | undefined;

  const recheck = async (): Promise<void> => {
    const valid = await parts.authority.stillValid([...open.keys()]);
    for (const [credentialId, controllers] of open)
      if (!valid.has(credentialId))
        for (const controller of controllers)
          controller.abort(new HoldfastError("unauthenticated", "the key or session has ended"));
  };
  const schedule = (): void => {
    cancel ??= parts.clock.after(recheckMs, () => {
      cancel = undefined;
      if (open.size === 0) return;
      recheck()
        .catch((error: unknown) => parts.logger.warn("open streams were not rechecked", { error }))
        .finally(schedule);
    });
  };

  return {
    follow: (credentialId, ...signals) => {
      const controller = new AbortController();
      const listeners = signals.map((signal) => {
        const abort = () => controller.abort(signal.reason);
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
        return () => signal.removeEventListener("abort", abort);
      });
      if (credentialId !== null && credentialId !== "none") {
        const same = open.get(credentialId) ?? new Set();
        open.set(credentialId, same.add(controller));
        schedule();
      }
      return {
        signal: controller.signal,
        end: () => {
          for (const remove of listeners) remove();
          if (credentialId === null) return;
          const same = open.get(credentialId);
          same?.delete(controller);
          if (same?.size === 0) open.delete(credentialId);
        },
      };
    },
    untilEnd: (result, finish) => {
      // A stream that is over has nobody left to tell: reconciliation takes over what could not be recorded.
      const ended = (error: unknown): Promise<void> =>
        finish(error).catch((failure: unknown) =>
          parts.logger.warn("the end of a stream was not recorded", { error: failure }),
        );
      if ("bytes" in result) return { ...result, bytes: watched(result.bytes, ended) };
      if ("events" in result) return { ...result, events: watched(result.events, ended) };
      if ("terminal" in result) return watchedTerminal(result, ended);
      void ended(undefined);
      return result;
    },
    stop: () => cancel?.(),
  };
};

/** A generator would not do: its `finally` never runs when the caller goes away before the first item. */
const watched = <T>(
  source: AsyncIterable<T>,
  ended: (error: unknown) => Promise<void>,
): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = source[Symbol.asyncIterator]();
    let over = false;
    const end = async (error: unknown): Promise<void> => {
      if (over) return;
      over = true;
      await ended(error);
    };
    return {
      next: async () => {
        let item: IteratorResult<T>;
        try {
          item = await iterator.next();
        } catch (error) {
          await end(error);
          throw error;
        }
        if (item.done) await end(undefined);
        return item;
      },
      return: async () => {
        try {
          await iterator.return?.();
        } finally {
          await end(undefined);
        }
        return { done: true, value: undefined };
      },
    };
  },
});

const watchedTerminal = (
  result: Extract<Result, { readonly terminal: unknown }>,
  ended: (error: unknown) => Promise<void>,
): Result => ({
  ...result,
  terminal: async (connection: TerminalConnection) => {
    try {
      await result.terminal(connection);
    } catch (error) {
      await ended(error);
      throw error;
    }
    await ended(undefined);
  },
  abandon: () => {
    result.abandon();
    void ended(undefined);
  },
});
