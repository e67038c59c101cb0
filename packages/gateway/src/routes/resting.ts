import type { ControlGatewayMethods } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";

/** Which computers rest, as control last said it. */
export interface Resting {
  /** Nothing there answers before it is woken. */
  rests(computerId: string): boolean;
  /** It was woken. */
  runs(computerId: string): void;
  /** Keeps it so until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const waitMs = 25_000;
const patienceMs = waitMs + 5_000;
const retryMs = 500;

/**
 * While control does not answer it stays as it is. A computer that rests and is not known to is found by its silence, one that runs again and
 * is not known to is asked for once too often: so nothing depends on it but time.
 */
export const createResting = (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Resting => {
  const { control, clock, logger } = options;
  const resting = new Set<string>();

  return {
    rests: (computerId) => resting.has(computerId),
    runs: (computerId) => {
      resting.delete(computerId);
    },
    run: async (signal) => {
      let after = 0;
      while (!signal.aborted) {
        try {
          const params = { after, wait_ms: waitMs };
          const { next, computers } = await control.call("resting.watch", params, { timeoutMs: patienceMs });
          if (next < after) {
            resting.clear();
            after = 0;
            continue;
          }
          for (const { computer_id: id, rests } of computers)
            if (rests) resting.add(id);
            else resting.delete(id);
          after = next;
        } catch (error) {
          if (signal.aborted) return;
          logger.debug("control does not say which computers rest", { error });
          await clock.sleep(retryMs, signal).catch(() => {});
        }
      }
    },
  };
};
