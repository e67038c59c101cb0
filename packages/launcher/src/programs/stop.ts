import type { Clock } from "@holdfast/kit";
import { isAlive, signal } from "../host/process.ts";
import { recordPath } from "./keeper.ts";
import type { ProgramPlan } from "./plan.ts";
import { readRecord } from "./record.ts";

/** Ends one program and its keeper; whether it ran. Throws when it does not end even by its kill signal. */
export const stopProgram = async (
  plan: Pick<ProgramPlan, "name" | "stopSignal" | "killSignal" | "stopMs">,
  places: { readonly records: string },
  clock: Clock,
): Promise<boolean> => {
  const record = await readRecord(recordPath(places, plan.name));
  if (!record || !(isAlive(record.keeper) || isAlive(record.program))) return false;
  const ended = async (withinMs: number): Promise<boolean> => {
    const until = clock.monotonic() + withinMs;
    while (isAlive(record.program) || isAlive(record.keeper)) {
      if (clock.monotonic() > until) return false;
      await clock.sleep(25);
    }
    return true;
  };
  for (const [name, waitMs] of [
    [plan.stopSignal, plan.stopMs],
    [plan.killSignal, 5000],
    ["SIGKILL", 5000],
  ] as const) {
    signal(record.program, name);
    if (await ended(waitMs)) return true;
  }
  throw new Error(`${plan.name} (pid ${record.program.pid}) does not end.`);
};
