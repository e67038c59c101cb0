import { HoldfastError, limits } from "@holdfast/contract";
import { countAttempt } from "../store/attempts.ts";
import type { Transaction } from "../store/transaction.ts";

/** Subjects under which a sign-in attempt counts: where it came from, and whom it is about. */
export const attemptSubjects = (address: string, who?: string): readonly string[] => [
  `address ${address}`,
  ...(who === undefined ? [] : [`owner ${who}`]),
];

/** Counts an attempt under each subject; throws `rate_limited` when one of them had too many in its window. */
export const limitAttempts = async (
  transaction: Transaction,
  subjects: readonly string[],
  nowMs: number,
): Promise<void> => {
  for (const subject of [...subjects].sort()) {
    const { attempts, windowStartMs } = await countAttempt(transaction, subject, nowMs, limits.loginWindowMs);
    if (attempts > limits.loginAttemptsPerWindow)
      throw new HoldfastError("rate_limited", "too many sign-in attempts", {
        retry_after_ms: Math.max(1000, windowStartMs + limits.loginWindowMs - nowMs),
      });
  }
};
