import type { Clock, Logger } from "@holdfast/kit";
import { placesOf } from "./instance/places.ts";
import type { InstanceSettings } from "./instance/settings.ts";
import { planPrograms } from "./programs/plans.ts";
import type { ProgramPlan } from "./programs/plan.ts";
import { watchProgram } from "./programs/watch.ts";

/**
 * Watches every program of the instance until the signal aborts, then returns and leaves them running. Needs what set-up makes: users,
 * directories, mounts, the cluster.
 */
export const runLauncher = async (options: {
  readonly settings: InstanceSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { settings, clock, random, logger, signal } = options;
  const { log, records } = placesOf(settings.instance, settings.data);
  const plans = await planPrograms(settings, clock);
  await Promise.all(
    plans.map((plan) =>
      watchProgram({
        plan,
        places: { agent: settings.agent, log, records },
        clock,
        random,
        logger,
        mayStart: () => allReady(plans.filter(({ name }) => plan.after.includes(name))),
        signal,
      }),
    ),
  );
};

const allReady = async (plans: readonly ProgramPlan[]): Promise<boolean> => {
  const problems = await Promise.allSettled(plans.map((plan) => plan.health()));
  return problems.every((problem) => problem.status === "fulfilled" && problem.value === undefined);
};
