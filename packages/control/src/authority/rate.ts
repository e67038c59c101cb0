import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { RateState } from "../domain/dispatch.ts";
import { Recent } from "../lib/recent.ts";

export interface RateLimiter {
  /** Takes one out of the subject's bucket. `allowed` false: nothing was taken, `resetMs` says when there is one again. */
  take(subject: string): RateState & { readonly allowed: boolean };
  /** Puts one back that turned out not to count. */
  give(subject: string): void;
}

/** How much a bucket holds, and over which time it is refilled evenly. */
export interface RatePolicy {
  readonly most: number;
  readonly windowMs: number;
}

const subjectsLimit = 10_000;
const requestPolicy: RatePolicy = { most: limits.requestsPerWindow, windowMs: limits.requestWindowMs };

/** Token buckets in memory. A restart of control fills them, and so does being the longest unheard of among `subjectsLimit`. */
export const createRateLimiter = (clock: Clock, policy: RatePolicy = requestPolicy): RateLimiter => {
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

export interface Concurrency {
  /** Throws `limit_reached`; the returned function gives the place back. */
  enter(subject: string): () => void;
}

export const createConcurrency = (limit: number, what: string): Concurrency => {
  const running = new Map<string, number>();
  return {
    enter: (subject) => {
      const now = running.get(subject) ?? 0;
      if (now >= limit)
        throw new HoldfastError("limit_reached", `${now} ${what} are under way already`, {
          limit,
          counts: what,
        });
      running.set(subject, now + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const rest = (running.get(subject) ?? 1) - 1;
        if (rest === 0) running.delete(subject);
        else running.set(subject, rest);
      };
    },
  };
};
