import { controlLauncherMethods, socketPath } from "@holdfast/contract";
import { createRpcClient, systemClock } from "@holdfast/kit";
import { type InstanceSettings, placesOf, type ProgramStatus, readProgramStatus } from "@holdfast/launcher";
import { planPostgres } from "../../packages/launcher/src/postgres/program.ts";

/**
 * What `holdfast status` says of an instance's programs, without starting it each time: tests ask again and again, and digesting the sources
 * for a whole plan is most of that verb's work.
 */
export const readPrograms = async (settings: InstanceSettings): Promise<readonly ProgramStatus[]> => {
  const places = placesOf(settings.instance, settings.data);
  const postgres = await planPostgres(places, { uid: 0, gid: 0 });
  const plans = [
    { name: "launcher", health: () => Promise.resolve(undefined) },
    { name: "postgres", health: postgres.health },
    ...(["supervisor", "control", "gateway"] as const).map((name) => ({
      name,
      health: () => askHealth(settings.instance, name),
    })),
  ];
  return Promise.all(plans.map((plan) => readProgramStatus(plan, places)));
};

const methods = { health: controlLauncherMethods.health };

/** A connection each time: one that is kept would keep the test's process. */
const askHealth = async (
  instance: string,
  program: "supervisor" | "control" | "gateway",
): Promise<string | undefined> => {
  const path = socketPath(instance, program, "launcher");
  const client = createRpcClient({ path, methods, clock: systemClock, timeoutMs: 5000 });
  try {
    const { ready, detail } = await client.call("health", {});
    return ready ? undefined : detail;
  } finally {
    client.close();
  }
};
