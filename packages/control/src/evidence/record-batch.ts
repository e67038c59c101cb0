import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { RecordSink } from "../domain/record-sink.ts";
import { type FinishedRecord, insertFinished } from "../store/records.ts";
import type { Database } from "../store/transaction.ts";

const queueLimit = 20_000;
const batchLimit = 1000;

export interface RecordBatch extends RecordSink {
  /** Writes what is queued. Rejects when the database is away; the records stay queued. */
  flush(): Promise<void>;
}

/**
 * Records of observing operations and of refusals, written together every `recordsBatchMs`. What the batch holds is lost with control;
 * operations that change something are never recorded here.
 */
export const createRecordBatch = (parts: {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}): RecordBatch => {
  const queue: FinishedRecord[] = [];
  let reserved = 0;
  let dropped = 0;
  let timer: (() => void) | undefined;
  let writing: Promise<void> | undefined;

  const schedule = (): void => {
    timer ??= parts.clock.after(limits.recordsBatchMs, () => {
      timer = undefined;
      flush().catch((error: unknown) => {
        parts.logger.warn("records wait for the database", { queued: queue.length, error });
        schedule();
      });
    });
  };

  const write = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice(0, batchLimit);
      await insertFinished(parts.db, batch);
      queue.splice(0, batch.length);
    }
    if (dropped > 0) parts.logger.warn("refusals were not recorded: too many at once", { dropped });
    dropped = 0;
  };

  const flush = (): Promise<void> => {
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  const push = (record: FinishedRecord): void => {
    queue.push(record);
    schedule();
  };

  return {
    reserve: () => {
      if (queue.length + reserved >= queueLimit)
        throw new HoldfastError("unavailable", "records cannot be written: the database is not answering", {
          part: "database",
        });
      reserved += 1;
    },
    add: (record) => {
      reserved -= 1;
      push(record);
    },
    refuse: (record) => {
      if (queue.length + reserved < queueLimit) push(record);
      else dropped += 1;
    },
    flush,
  };
};
