import type { Clock, Logger } from "@holdfast/kit";
import type { LaneKey } from "./pool.ts";

/** Says that a computer cannot be reached though control has it running: the operator's to mend. At most now and then. */
export type Unreachable = (lane: LaneKey, why: string) => void;

const sayEveryMs = 30_000;

export const createUnreachable = (clock: Clock, logger: Logger): Unreachable => {
  let saidAt = -Infinity;
  let unsaid = 0;
  return ({ projectId, computerId, port }, why) => {
    unsaid += 1;
    if (clock.monotonic() - saidAt < sayEveryMs) return;
    saidAt = clock.monotonic();
    logger.warn("a computer that control has running cannot be reached", {
      project: projectId,
      computer: computerId,
      port,
      why,
      visits: unsaid,
    });
    unsaid = 0;
  };
};
