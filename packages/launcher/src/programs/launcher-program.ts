import type { Places } from "../instance/places.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import { nodeProgram } from "./node-program.ts";
import type { ProgramPlan } from "./plan.ts";

/** The launcher is kept like the programs it watches: one at a time, a bounded log, a record to find it by. */
export const planLauncher = async (settings: InstanceSettings, places: Places): Promise<ProgramPlan> => {
  const common = await nodeProgram({
    name: "launcher",
    settings,
    places,
    user: undefined,
    arguments: [settings.data],
    sockets: [],
    // What it passes on to programs; see node-program.ts.
    environment: Object.fromEntries(
      Object.entries(process.env).filter(
        (entry): entry is [string, string] =>
          entry[1] !== undefined && entry[0].startsWith("HOLDFAST_CRASH_"),
      ),
    ),
    sources: ["packages", "policy"],
    modules: ["launcher.ts"],
  });
  return {
    ...common,
    // Its work is to watch; whether that succeeds is seen by the health of what it watches.
    health: () => Promise.resolve(undefined),
    stopSignal: "SIGTERM",
    killSignal: "SIGKILL",
    stopMs: 5000,
  };
};
