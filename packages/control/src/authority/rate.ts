import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { RateState } from "../domain/dispatch.ts";

export interface RateLimiter {
  /** Takes one request out of the subject's bucket. `allowed` false: nothing was taken, `resetMs` says when there is one again. */
  take(subject: string): RateState & { readonly allowed: boolean };
}

const subjectsLimit = 10_000;

/** Token buckets in memory: `requestsPerWindow`, refilled evenly. A restart of control fills them. */
export const createRateLimiter = (clock: Clock): RateLimiter => {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const perMs = limits.requestsPerWindow / limits.requestWindowMs;
  return {
    take: (subject) => {
      const now = clock.monotonic();
      const bucket = buckets.get(subject) ?? { tokens: limits.requestsPerWindow, at: now };
      if (buckets.size >= subjectsLimit) dropFull(buckets, now, perMs);
      const tokens = Math.min(limits.requestsPerWindow, bucket.tokens + (now - bucket.at) * perMs);
      const allowed = tokens >= 1;
      const left = allowed ? tokens - 1 : tokens;
      buckets.set(subject, { tokens: left, at: now });
      return {
        allowed,
        limit: limits.requestsPerWindow,
        remaining: Math.floor(left),
        resetMs: Math.ceil((allowed ? limits.requestsPerWindow - left : 1 - left) / perMs),
        windowMs: limits.requestWindowMs,
      };
    },
  };
};

const dropFull = (
  buckets: Map<string, { readonly tokens: number; readonly at: number }>,
  now: number,
  perMs: number,
): void => {
  for (const [subject, bucket] of buckets)
    if (bucket.tokens + (now - bucket.at) * perMs >= limits.requestsPerWindow) buckets.delete(subject);
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
