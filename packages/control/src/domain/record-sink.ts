import type { FinishedRecord } from "../store/records.ts";

/** Where finished records go that need no durable statement of their own. Filled by `evidence/record-batch.ts`. */
export interface RecordSink {
  /** Throws `unavailable` when the queue is full, before the operation runs: what cannot be recorded is not done. */
  reserve(): void;
  /** Takes a record whose place was reserved. */
  add(record: FinishedRecord): void;
  /** Takes a refusal; dropped and counted when the queue is full, for anybody may cause one. */
  refuse(record: FinishedRecord): void;
}
