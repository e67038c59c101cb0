import type { Clock, Logger } from "@holdfast/kit";
import { type ProcessIdentity, isAlive } from "../host/process.ts";
import { createBackoff, type Backoff } from "./backoff.ts";
import { recordPath, startKeeper, type KeeperPlaces } from "./keeper.ts";
import type { ProgramPlan } from "./plan.ts";
import { readRecord, runningProgram } from "./record.ts";
import { stopProgram } from "./stop.ts";

/** How often the programs are looked at: a dead one is noticed within this. Reading two lines of /proc each time costs nothing. */
const lookEveryMs = 200;

/**
 * Keeps one program running until the signal aborts: adopts the one that runs, ends one that is not what would be started now, starts
 * it when there is none, waits ever longer between starts that fail. Leaves the program running when it returns.
 */
export const watchProgram = async (options: {
  readonly plan: ProgramPlan;
  readonly places: KeeperPlaces;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Whether what the program needs first is ready. */
  readonly mayStart: () => Promise<boolean>;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { plan, places, clock, signal } = options;
  const logger = options.logger.child({ of: plan.name });
  const backoff: Backoff = createBackoff(options.random);
  const path = recordPath(places, plan.name);

  const adopt = async (): Promise<ProcessIdentity | undefined> => {
    const record = await readRecord(path);
    const running = runningProgram(record);
    if (!running || !record) return undefined;
    if (record.label === plan.label) {
      logger.info("adopted", { pid: running.pid });
      return running;
    }
    logger.info("runs with other settings or sources, is started anew", { pid: running.pid });
    await stopProgram(plan, places, clock);
    return undefined;
  };

  const start = async (): Promise<ProcessIdentity | undefined> => {
    if (!(await options.mayStart())) return undefined;
    await plan.beforeStart?.();
    const outcome = await startKeeper(plan, places);
    const running = runningProgram(await readRecord(path));
    if (running) logger.info(outcome, { pid: running.pid });
    return running;
  };

  const untilEnd = async (running: ProcessIdentity): Promise<void> => {
    while (isAlive(running)) await clock.sleep(lookEveryMs, signal);
    // The keeper notes how the program ended after it did.
    const record = await readRecord(path);
    while (record && isAlive(record.keeper)) await clock.sleep(20, signal);
    logger.warn("ended", {
      pid: running.pid,
      how: (await readRecord(path))?.ended ?? "killed with its keeper",
    });
  };

  try {
    let running = await adopt();
    while (!signal.aborted) {
      const since = clock.monotonic();
      if (!running && !(await options.mayStart())) {
        await clock.sleep(100, signal);
        continue;
      }
      try {
        running ??= await start();
        if (running) await untilEnd(running);
      } catch (error) {
        if (signal.aborted) break;
        logger.error("could not be started", { error });
      }
      running = undefined;
      await clock.sleep(backoff.next(clock.monotonic() - since), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
