const dayMs = 24 * 3600 * 1000;
const longestMs = 3600 * 1000;

export interface RetryPolicy {
  readonly retries: number;
  readonly retryBackoffMs: number;
  readonly retriesPerDay: number;
}

export interface RetryState {
  /** The day of UTC, since 1970, that `used` counts for. */
  readonly day: number;
  readonly used: number;
}

/** When a run whose `attempt` failed is tried again, and what is used of the schedule's budget then; null: it has failed for good. */
export const retryOf = (
  policy: RetryPolicy,
  attempt: number,
  spent: RetryState,
  nowMs: number,
): { readonly atMs: number; readonly spent: RetryState } | null => {
  const day = Math.floor(nowMs / dayMs);
  const used = spent.day === day ? spent.used : 0;
  if (attempt > policy.retries || used >= policy.retriesPerDay) return null;
  const waitMs = Math.min(longestMs, policy.retryBackoffMs * 2 ** Math.min(30, attempt - 1));
  return { atMs: nowMs + waitMs, spent: { day, used: used + 1 } };
};
