import type { Clock } from "./clock.ts";
import { Recent } from "./recent.ts";

export interface RateLimiter {
  /** Takes one out of the subject's bucket. `allowed` false: nothing was taken, `resetMs` says when there is one again. */
  take(subject: string): RateState & { readonly allowed: boolean };
  /** Puts one back that turned out not to count. */
  give(subject: string): void;
}

/** What is left to a subject. `resetMs`: until its bucket is full again. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly windowMs: number;
}

/** How much a bucket holds, and over which time it is refilled evenly. */
export interface RatePolicy {
  readonly most: number;
  readonly windowMs: number;
}

const subjectsLimit = 20_000;

/** Token buckets in memory. A restart fills them, and so does being the longest unheard of among `subjectsLimit`. */
export const createRateLimiter = (clock: Clock, policy: RatePolicy): RateLimiter => {
  const buckets = new Recent<string, { readonly tokens: number; readonly at: number }>(subjectsLimit);
  const { most, windowMs } = policy;
  const perMs = most / windowMs;
  const now = (subject: string): number => {
    const bucket = buckets.get(subject);
    if (!bucket) return most;
    return Math.min(most, bucket.tokens + (clock.monotonic() - bucket.at) * perMs);
  };
  const keep = (subject: string, tokens: number): void =>
    buckets.set(subject, { tokens, at: clock.monotonic() });
  return {
    take: (subject) => {
      const tokens = now(subject);
      const allowed = tokens >= 1;
      const left = allowed ? tokens - 1 : tokens;
      keep(subject, left);
      return {
        allowed,
        limit: most,
        remaining: Math.floor(left),
        resetMs: Math.ceil((allowed ? most - left : 1 - left) / perMs),
        windowMs,
      };
    },
    give: (subject) => keep(subject, Math.min(most, now(subject) + 1)),
  };
};
