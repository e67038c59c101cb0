import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import { watchChanges } from "../host/changes.ts";
import { type ProcessIdentity, isAlive } from "../host/process.ts";
import { createBackoff, type Backoff } from "./backoff.ts";
import { recordPath, startKeeper, type KeeperPlaces } from "./keeper.ts";
import type { ProgramPlan } from "./plan.ts";
import { watchReadiness } from "./readiness.ts";
import { readRecord, runningProgram } from "./record.ts";
import { stopProgram } from "./stop.ts";

/**
 * The keeper notes the end of its program, which is seen at once. Nobody notes the end of a keeper that was killed, which takes its program
 * with it: so they are also looked at this often, which an idle host does not feel (ten times as often it was 0.8 % of a core).
 */
const lookEveryMs = 1000;

/**
 * Keeps one program running until the signal aborts: adopts the one that runs, ends one that is not what would be started now, starts
 * it when there is none, waits ever longer between starts after which it does not serve. Leaves the program running when it returns.
 */
export const watchProgram = async (options: {
  readonly plan: ProgramPlan;
  readonly places: KeeperPlaces;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { plan, places, clock, crashPoint, signal } = options;
  const logger = options.logger.child({ of: plan.name });
  const backoff: Backoff = createBackoff(options.random, () => clock.monotonic());
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
    crashPoint("program-before-start");
    await plan.beforeStart?.();
    crashPoint("program-prepared");
    const outcome = await startKeeper(plan, places);
    crashPoint("program-started");
    const running = runningProgram(await readRecord(path));
    if (running) logger.info(outcome, { pid: running.pid });
    return running;
  };

  /** Whether it served before it ended. */
  const untilEnd = async (running: ProcessIdentity): Promise<boolean> => {
    const changes = watchChanges(path, clock);
    const end = new AbortController();
    const served = watchReadiness(plan.health, clock, end.signal);
    try {
      while (isAlive(running)) await changes.next(lookEveryMs, signal);
    } finally {
      end.abort();
      changes.close();
    }
    // The keeper holds the record, which its successor needs, until it has written down how the program ended.
    const record = await readRecord(path);
    while (record && isAlive(record.keeper)) await clock.sleep(5, signal);
    const how = (await readRecord(path))?.ended ?? "killed with its keeper";
    logger.warn("ended", { pid: running.pid, how });
    crashPoint("program-ended");
    return served();
  };

  try {
    while (!signal.aborted) {
      let served = false;
      try {
        const running = (await adopt()) ?? (await start());
        if (running) served = await untilEnd(running);
      } catch (error) {
        if (signal.aborted) break;
        // One program that cannot be had must not end the watch over the others.
        logger.error("could not be started", { error });
      }
      await clock.sleep(backoff.next(served), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
