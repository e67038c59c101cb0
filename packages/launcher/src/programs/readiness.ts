import type { Clock } from "@holdfast/kit";
import type { ProgramPlan } from "./plan.ts";

const askEveryMs = 250;

/** Asks a program until it serves or the signal aborts; the answer tells whether it has been seen to serve. */
export const watchReadiness = (
  health: ProgramPlan["health"],
  clock: Clock,
  signal: AbortSignal,
): (() => boolean) => {
  let served = false;
  const ask = async (): Promise<void> => {
    while (!signal.aborted) {
      const problem = await health().catch(() => "cannot be asked");
      if (problem === undefined) {
        served = true;
        return;
      }
      await clock.sleep(askEveryMs, signal);
    }
  };
  // A wait that the signal cut short: nobody asks any more.
  ask().catch(() => {});
  return () => served;
};
