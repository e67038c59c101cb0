import { lifecycleDefaults } from "@holdfast/contract";
import type { Cause, Computer } from "../domain/computer.ts";

/** What a computer should be by itself. */
export interface Due {
  readonly desired: "asleep" | "stopped" | "archived" | "destroyed";
  readonly cause: Cause;
}

/** Idle time until it sleeps; 0: never. */
export const sleepAfterMs = ({ sleepAfterMs: own, size }: Pick<Computer, "sleepAfterMs" | "size">): number =>
  own ?? lifecycleDefaults[size].sleep_after_ms;

/** Time asleep until it is stopped; 0: never. */
export const stopAfterMs = ({ stopAfterMs: own, size }: Pick<Computer, "stopAfterMs" | "size">): number =>
  own ?? lifecycleDefaults[size].stop_after_ms;

/** `quietMs`: for how long nothing has happened on it. What holds it awake is not looked at here. Undefined: nothing is due. */
export const due = (computer: Computer, nowMs: number, quietMs: number): Due | undefined => {
  const { desiredState, expiresAtMs, state } = computer;
  if (desiredState === "destroyed" || state === "destroyed") return undefined;
  if (expiresAtMs !== null && nowMs >= expiresAtMs) return { desired: "destroyed", cause: "expired" };
  // It is on its way somewhere, or is being worked on.
  if (state !== desiredState || computer.restoring !== null) return undefined;
  const hereMs = nowMs - computer.stateSinceMs;
  const isOver = (afterMs: number, passedMs: number): boolean => afterMs > 0 && passedMs >= afterMs;
  switch (state) {
    case "awake":
      if (computer.keepAwake || !isOver(sleepAfterMs(computer), quietMs)) return undefined;
      return { desired: "asleep", cause: "idle" };
    case "asleep":
      if (computer.keepAwake || !isOver(stopAfterMs(computer), hereMs)) return undefined;
      return { desired: "stopped", cause: "long_asleep" };
    case "stopped":
      return isOver(computer.archiveAfterMs, hereMs)
        ? { desired: "archived", cause: "long_stopped" }
        : undefined;
    case "archived":
      return undefined;
  }
};

/** A computer whose processes took more of one processor than this is at work, whatever else is known of it. */
const busyShare = 0.05;

export interface Spent {
  /** Of the processor since the cell started, milliseconds. */
  readonly cpuMs: number;
  readonly cellId: string | null;
  /** Monotonic. */
  readonly at: number;
}

/** Whether it worked between two looks. Another cell counts from 0 again, so it tells nothing. */
export const workedBetween = (before: Spent, now: Spent): boolean =>
  before.cellId === now.cellId && now.cpuMs - before.cpuMs > busyShare * (now.at - before.at);
