import { ensureCluster, lookUpUser, userNames, type InstanceSettings, type Places } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

/** The private cluster, or nothing where a shared server is used. */
export const ensureDatabase = async (
  settings: InstanceSettings,
  places: Places,
): Promise<StepResult<void>> => {
  if (settings.database === "url")
    return { outcome: "skipped", detail: "a shared server (HOLDFAST_DATABASE_URL)", value: undefined };
  const made = await ensureCluster(places.postgres, await lookUpUser(userNames.postgres));
  return { outcome: made ? "done" : "skipped", detail: places.postgres, value: undefined };
};
