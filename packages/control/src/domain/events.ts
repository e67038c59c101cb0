import type { Transaction } from "../store/transaction.ts";

/** Something that happened. Written in the change's own transaction, so it is told if and only if the change holds. */
export interface NewEvent {
  readonly accountId: string;
  /** `noun.verb`, for example `computer.awake`. */
  readonly kind: string;
  readonly target: string | null;
  /** The computer it is about, for filtering; null when none. */
  readonly computerId: string | null;
  /** The assistant that may see it beside the owners; null: owners only. */
  readonly visibleTo: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Filled by `store/events.ts`. */
export interface EventLog {
  append(transaction: Transaction, ...events: readonly NewEvent[]): Promise<void>;
}
