import { type ControlGatewayMethods, limits } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";

/** What keeps computers awake for those who visit them: which projects' visitors had something to say, or were told something. */
export interface Reports {
  /** Bytes of a visit that was let in went either way. */
  moved(projectId: string): void;
  /** Tells control every few seconds until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Less than half of the shortest idle time that may be asked for. */
const everyMs = 4_000;

export const createReports = (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Reports => {
  const { control, clock, logger } = options;
  /** Of projects that have routes: no more than there are. */
  let moved = new Set<string>();

  const report = async (): Promise<void> => {
    const ids = [...moved];
    moved = new Set();
    for (let at = 0; at < ids.length; at += limits.routesPerReply)
      await control.call("visits.report", { project_ids: ids.slice(at, at + limits.routesPerReply) });
  };

  return {
    moved: (projectId) => {
      moved.add(projectId);
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(everyMs, signal).catch(() => {});
        // Old news are none: computers are counted as just used when control starts again.
        await report().catch((error: unknown) => logger.debug("control was not told of visits", { error }));
      }
    },
  };
};
