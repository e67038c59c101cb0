import { type AccessRecord, type ControlGatewayMethods, HoldfastError, limits } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";

/** Access records on their way to control. No visitor ever waits for one. */
export interface Records {
  add(record: AccessRecord): void;
  /** Sends what is there every `everyMs` until the signal aborts, then once more. */
  run(signal: AbortSignal): Promise<void>;
  readonly dropped: number;
}

const everyMs = 500;
/** While control is away so many are kept; beyond, the new ones are counted and dropped. */
const keptAtMost = 20_000;
/** Of one message (1 MiB at most): paths are the only long part. */
const batchPathBytes = 400 * 1024;
const sayEveryMs = 30_000;

export const createRecords = (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Records => {
  const { control, clock, logger } = options;
  let kept: AccessRecord[] = [];
  let dropped = 0;
  let saidAt = -Infinity;
  let saidDropped = 0;

  const nextBatch = (): number => {
    let bytes = 0;
    let count = 0;
    for (const { path } of kept) {
      bytes += path.length;
      if (count >= limits.accessRecordsPerBatch || (count > 0 && bytes > batchPathBytes)) break;
      count += 1;
    }
    return count;
  };

  const send = async (): Promise<void> => {
    while (kept.length > 0) {
      const count = nextBatch();
      // An answer that is lost means that they may be sent twice; a record twice is better than none.
      try {
        await control.call("access.record", { records: kept.slice(0, count) });
      } catch (error) {
        // What control will not take however often it is sent must not hold up the rest.
        if (!(error instanceof HoldfastError && error.code === "invalid_input")) throw error;
        dropped += count;
      }
      kept = kept.slice(count);
    }
  };

  const trySend = async (): Promise<void> => {
    try {
      await send();
    } catch (error) {
      logger.debug("access records wait for control", { error, waiting: kept.length });
    }
    if (dropped > saidDropped && clock.monotonic() - saidAt > sayEveryMs) {
      logger.warn("access records were dropped: control did not take them", { dropped });
      saidDropped = dropped;
      saidAt = clock.monotonic();
    }
  };

  return {
    add: (record) => {
      if (kept.length < keptAtMost) kept.push(record);
      else dropped += 1;
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(everyMs, signal).catch(() => {});
        await trySend();
      }
    },
    get dropped() {
      return dropped;
    },
  };
};
