import { type ControlGatewayMethods, limits } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";

/** What came of bringing a project up. `unavailable`: control does not answer. */
export interface Woken {
  readonly state: "ready" | "starting" | "failed" | "refused" | "no_service" | "unavailable" | "crowded";
  readonly retryAfterMs: number;
  readonly reason: string | null;
  /** The web service's last lines; null unless the right is an owner's or an assistant's. */
  readonly log: string | null;
}

export interface Waker {
  /**
   * Brings the project up and says how it went. Only for a visit whose right was judged. All that wait for one project by one right share a call;
   * more than may wait are told `crowded` at once. Never rejects.
   */
  wake(projectId: string, rightId: string | null): Promise<Woken>;
  /** Makes sure, now and then, that a project which does not answer is not asleep. */
  nudge(projectId: string, rightId: string | null): void;
}

const nudgeEveryMs = 5000;
const nudgesRemembered = 10_000;
const answerMarginMs = 5000;
const retryMs = 2000;

export const createWaker = (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Waker => {
  const { control, clock, logger } = options;
  const flights = new Map<string, { readonly woken: Promise<Woken>; waiting: number }>();
  const nudged = new Map<string, number>();

  const call = async (projectId: string, rightId: string | null, waitMs: number): Promise<Woken> => {
    try {
      const answer = await control.call(
        "project.wake",
        { project_id: projectId, right_id: rightId, wait_ms: waitMs },
        { timeoutMs: waitMs + answerMarginMs },
      );
      return { ...answer, retryAfterMs: answer.retry_after_ms };
    } catch (error) {
      logger.debug("control did not bring a project up", { project: projectId, error });
      return { state: "unavailable", retryAfterMs: retryMs, reason: null, log: null };
    }
  };

  return {
    wake: async (projectId, rightId) => {
      const key = `${projectId} ${rightId}`;
      let flight = flights.get(key);
      if (!flight) {
        flight = {
          waiting: 0,
          woken: call(projectId, rightId, limits.visitWakeMs).finally(() => flights.delete(key)),
        };
        flights.set(key, flight);
      } else if (flight.waiting >= limits.visitsWaiting) {
        return { state: "crowded", retryAfterMs: retryMs, reason: null, log: null };
      }
      flight.waiting += 1;
      return flight.woken;
    },
    nudge: (projectId, rightId) => {
      const now = clock.monotonic();
      if (now - (nudged.get(projectId) ?? -Infinity) < nudgeEveryMs) return;
      if (nudged.size >= nudgesRemembered) nudged.clear();
      nudged.set(projectId, now);
      void call(projectId, rightId, 0);
    },
  };
};
