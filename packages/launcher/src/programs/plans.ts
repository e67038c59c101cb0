import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@holdfast/kit";
import { lookUpUser, userNames } from "../host/users.ts";
import { placesOf } from "../instance/places.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import { planPostgres, privateDatabaseUrl } from "../postgres/program.ts";
import { planControl } from "./control.ts";
import { planGateway } from "./gateway.ts";
import type { ProgramPlan } from "./plan.ts";
import { planSupervisor } from "./supervisor.ts";

/** The programs of an instance in the order in which they are told of; stopping goes the other way. */
export const planPrograms = async (
  settings: InstanceSettings,
  clock: Clock,
): Promise<readonly ProgramPlan[]> => {
  const places = placesOf(settings.instance, settings.data);
  const control = await lookUpUser(userNames.control);
  const { projects } = settings;
  const gateway = projects && (await lookUpUser(userNames.gateway));
  const ours = settings.database === "private";
  const databaseUrl = ours ? privateDatabaseUrl(places) : (await readFile(places.databaseUrl, "utf8")).trim();
  const plans = [
    ...(ours ? [await planPostgres(places, await lookUpUser(userNames.postgres))] : []),
    await planSupervisor(settings, places, { control, gateway }, clock),
    await planControl(settings, places, { control, gateway }, databaseUrl, clock),
    ...(projects && gateway ? [await planGateway(settings, projects, places, gateway, clock)] : []),
  ];
  return plans.filter(
    ({ name }) => name === "postgres" || existsSync(join(settings.source, "packages", name, "src/main.ts")),
  );
};
