import type { Logger } from "@holdfast/kit";
import type { Result, TerminalConnection } from "../domain/handler.ts";

/** The same result, telling `finish` once when its stream is over: with the error it failed with, if any. */
export const untilEnd = (
  result: Result,
  finish: (error: unknown) => Promise<void>,
  logger: Logger,
): Result => {
  // A stream that is over has nobody left to tell: reconciliation takes over what could not be recorded.
  const ended = (error: unknown): Promise<void> =>
    finish(error).catch((failure: unknown) =>
      logger.warn("the end of a stream was not recorded", { error: failure }),
    );
  if ("bytes" in result) return { ...result, bytes: watched(result.bytes, ended) };
  if ("events" in result) return { ...result, events: watched(result.events, ended) };
  if ("terminal" in result) return watchedTerminal(result, ended);
  void ended(undefined);
  return result;
};

/** For a result that nobody will read. */
export const letGo = async (result: Result): Promise<void> => {
  if ("terminal" in result) return result.abandon();
  const stream = "bytes" in result ? result.bytes : "events" in result ? result.events : undefined;
  await stream?.[Symbol.asyncIterator]().return?.();
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
