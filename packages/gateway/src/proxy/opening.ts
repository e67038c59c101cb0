import { limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Failure } from "./failure.ts";
import type { Resting } from "../routes/resting.ts";
import type { LaneKey, Pool } from "./pool.ts";
import type { Unreachable } from "./unreachable.ts";
import type { Upstream } from "./upstream.ts";
import type { Waker, Woken } from "./waker.ts";

/** A cell that sleeps takes connections and does not answer: after this long it is looked whether it is one. */
const awakeAnswersMs = 400;
const wokenAnswersMs = 5000;
const againMs = 100;
const wakeAgainMs = 1000;

/** What is shared by all exchanges. */
export interface Proxy {
  readonly pool: Pool;
  readonly waker: Waker;
  readonly clock: Clock;
  readonly unreachable: Unreachable;
  readonly resting: Pick<Resting, "rests" | "runs">;
  /** Bytes of a visit to this project went either way. */
  readonly moved: (projectId: string) => void;
}

/** Where a visit goes that was let in. */
export interface Destination {
  readonly lane: LaneKey;
  /** The web service's port, which control brings up; others are looked for once more and no longer. */
  readonly isWeb: boolean;
  /** By which it was let in; null: by a rule. */
  readonly rightId: string | null;
}

/**
 * A connection to the lane's port; brings the project up where there is none. Called only for a visit that was let in. Gives up after
 * `limits.visitWakeMs`, or when `wanted` says that nobody waits any more. Never rejects.
 */
export const openLane = async (
  { pool, waker, clock, unreachable, resting }: Proxy,
  { isWeb, lane, rightId }: Destination,
  wanted: () => boolean,
): Promise<Upstream | Failure> => {
  const until = clock.monotonic() + limits.visitWakeMs;
  let wokenAt = -Infinity;
  if (resting.rests(lane.computerId)) {
    const failure = failureOf(await waker.wake(lane.projectId, rightId));
    if (failure) return failure;
    resting.runs(lane.computerId);
    wokenAt = clock.monotonic();
  }
  for (;;) {
    const opened = await pool.open(lane, wokenAt === -Infinity ? awakeAnswersMs : wokenAnswersMs);
    if (typeof opened !== "string") return opened;
    if (opened === "crowded" || opened === "full") return { kind: "crowded" };
    if (!wanted()) return { kind: "unavailable" };
    const woken = wokenAt > -Infinity;
    if (woken && !isWeb && opened === "refused") return { kind: "no_listener" };
    if (clock.monotonic() > until) {
      // A service that takes its time to listen is the app's own affair.
      if (opened !== "refused") unreachable(lane, opened);
      return { kind: "starting", retryAfterMs: 2000 };
    }
    if (clock.monotonic() - wokenAt > wakeAgainMs) {
      const failure = failureOf(await waker.wake(lane.projectId, rightId));
      if (failure) return failure;
      wokenAt = clock.monotonic();
      if (!woken) continue;
    }
    await clock.sleep(againMs);
  }
};

const failureOf = (woken: Woken): Failure | undefined => {
  switch (woken.state) {
    case "ready":
      return undefined;
    case "starting":
      return { kind: "starting", retryAfterMs: woken.retryAfterMs };
    case "failed":
      return { kind: "crashed", reason: woken.reason, log: woken.log };
    case "refused":
      return { kind: "not_today" };
    case "no_service":
      return { kind: "no_service" };
    case "unavailable":
    case "crowded":
      return { kind: woken.state };
  }
};
