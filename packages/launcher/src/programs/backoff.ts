/** When to start a program again that ends by itself. */
export interface Backoff {
  /** Milliseconds to wait before the next start, given whether the program served this time. */
  next(served: boolean): number;
}

const firstMs = 250;
const longestMs = 30_000;
/** One that serves, ends, and serves again: so many starts without a wait, and one more for each time that passes. */
const startsAtOnce = 10;
const oneMoreMs = 5_000;

/**
 * None after a run in which the program served, but for more than ten such starts and one every 5 s: then until the next is due. Else it
 * doubles from 250 ms to 30 s, each with jitter of ± 25 %, so that programs which fail together do not come back together. How long it
 * ran says nothing: on a slow host one that never serves takes its time to fail. `random` gives [0, 1), `monotonic` milliseconds.
 */
export const createBackoff = (random: () => number, monotonic: () => number): Backoff => {
  let failures = 0;
  let due = -Infinity;
  return {
    next: (served) => {
      if (served) {
        failures = 0;
        const now = monotonic();
        due = Math.max(due, now - startsAtOnce * oneMoreMs) + oneMoreMs;
        return Math.max(0, due - now);
      }
      failures += 1;
      const plain = Math.min(longestMs, firstMs * 2 ** (failures - 1));
      return Math.round(plain * (0.75 + random() / 2));
    },
  };
};
