/** When to start a program again that ends by itself. */
export interface Backoff {
  /** Milliseconds to wait before the next start, given how long the program ran this time. */
  next(ranMs: number): number;
}

const firstMs = 250;
const longestMs = 30_000;
/** A program that ran this long did its work: its end is a new story, and it is started again at once. */
const soundAfterMs = 5_000;

/**
 * None after a sound run; else it doubles from 250 ms to 30 s, each with jitter of ± 25 %, so that programs which fail together do not
 * come back together. `random` gives [0, 1).
 */
export const createBackoff = (random: () => number): Backoff => {
  let failures = 0;
  return {
    next: (ranMs) => {
      failures = ranMs >= soundAfterMs ? 0 : failures + 1;
      if (failures === 0) return 0;
      const plain = Math.min(longestMs, firstMs * 2 ** (failures - 1));
      return Math.round(plain * (0.75 + random() / 2));
    },
  };
};
