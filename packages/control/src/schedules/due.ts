import { limits } from "@holdfast/contract";
import type { Timing, Timings } from "./timing.ts";

/** A slot that is turned into a run no later than this is on time: a restart of control takes less. What is later was missed. */
export const onTimeMs = 10_000;

export interface Due {
  /** The runs to make, in order. */
  readonly slots: readonly { readonly slotMs: number; readonly cause: "slot" | "missed" }[];
  /** The first slot that is still to come; null: it was the last. */
  readonly nextMs: number | null;
  /** Since when slots had been missed, made up for or not; null when none was. */
  readonly missedSinceMs: number | null;
}

export interface MissedPolicy {
  readonly missed: "skip" | "run_once" | "run_each";
  readonly missed_most: number;
}

/**
 * What is to be done about a schedule whose first slot without a run is `firstMs`, which has come. Slots are counted from that one, never from
 * now: a clock that is set back makes no second run, and one that is set ahead has missed what it jumped over.
 */
export const dueOf = (
  timings: Timings,
  timing: Timing,
  policy: MissedPolicy,
  firstMs: number,
  nowMs: number,
): Due => {
  const lateMs = nowMs - onTimeMs;
  const onTime = timings.latest(timing, Math.max(firstMs, lateMs), nowMs, limits.missedRuns);
  const anyMissed = firstMs < lateMs;
  const missed = anyMissed ? timings.latest(timing, firstMs, lateMs - 1, mostMadeUp(policy)) : [];
  return {
    slots: [
      ...missed.map((slotMs) => ({ slotMs, cause: "missed" as const })),
      ...onTime.map((slotMs) => ({ slotMs, cause: "slot" as const })),
    ],
    nextMs: timings.nextAfter(timing, nowMs),
    missedSinceMs: anyMissed ? firstMs : null,
  };
};

const mostMadeUp = ({ missed, missed_most }: MissedPolicy): number => {
  switch (missed) {
    case "skip":
      return 0;
    case "run_once":
      return 1;
    case "run_each":
      return Math.min(missed_most, limits.missedRuns);
  }
};
