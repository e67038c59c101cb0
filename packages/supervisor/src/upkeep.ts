import type { Clock, Logger } from "@holdfast/kit";
import type { Serving } from "./handlers.ts";

const lookEveryMs = 5_000;
const sweepEveryMs = 60_000;
const imagesEveryMs = 3_600_000;

/**
 * What has to be done from time to time: look for memory kills and lost quotas, take away quota groups of deleted volumes and images that
 * none needs.
 */
export const startUpkeep = (options: {
  readonly serving: Serving;
  readonly clock: Clock;
  readonly logger: Logger;
}): void => {
  const repeat = (everyMs: number, what: string, work: () => Promise<void>): void => {
    options.clock.after(everyMs, () => {
      work()
        .catch((error: unknown) => options.logger.error("upkeep failed; it is tried again", { what, error }))
        .finally(() => repeat(everyMs, what, work));
    });
  };
  repeat(lookEveryMs, "look", () => options.serving.cells.look());
  repeat(lookEveryMs, "quotas", () => options.serving.volumes.look());
  repeat(sweepEveryMs, "sweep", () => options.serving.volumes.sweep());
  repeat(imagesEveryMs, "images", () => options.serving.volumes.removeOldImages());
};
