import { HoldfastError, limits } from "@holdfast/contract";
import { networkOf } from "@holdfast/kit";
import { countAttempt } from "../store/attempts.ts";
import type { Transaction } from "../store/transaction.ts";

/** Under which subject an attempt counts, and how many a window has. */
export interface Attempt {
  readonly subject: string;
  readonly most: number;
}

const few = limits.loginAttemptsPerWindow;

/** Passphrases from where this one came. */
export const passphrasesFrom = (address: string): Attempt => ({
  subject: `address ${networkOf(address)}`,
  most: few,
});
/** Passphrases for one owner over all networks: many more, for whoever is elsewhere must not lock an owner out with ten wrong ones. */
export const passphrasesFor = (owner: string): Attempt => ({
  subject: `owner ${owner}`,
  most: limits.loginAttemptsPerOwner,
});
/** One-time codes, apart from passphrases: a code is the way in for whom wrong passphrases keep out. */
export const codesFrom = (address: string): Attempt => ({
  subject: `codes ${networkOf(address)}`,
  most: few,
});
/** Passphrases that confirm a session: whoever has none cannot use them up. */
export const confirmationsOf = (sessionId: string): Attempt => ({
  subject: `session ${sessionId}`,
  most: few,
});

/** Counts an attempt; throws `rate_limited` when one of its subjects had too many in its window. */
export const limitAttempts = async (
  transaction: Transaction,
  attempts: readonly Attempt[],
  nowMs: number,
): Promise<void> => {
  // In one order: two attempts never wait for each other.
  for (const { subject, most } of attempts.toSorted((a, b) => (a.subject < b.subject ? -1 : 1))) {
    const counted = await countAttempt(transaction, subject, nowMs, limits.loginWindowMs);
    if (counted.attempts > most)
      throw new HoldfastError("rate_limited", "too many sign-in attempts", {
        retry_after_ms: Math.max(1000, counted.windowStartMs + limits.loginWindowMs - nowMs),
      });
  }
};
