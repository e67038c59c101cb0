import {
  copyCertificate,
  lookUpUser,
  type Places,
  type ProjectsSettings,
  userNames,
} from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

/**
 * Takes the operator's certificate over where its files were renewed. One that cannot be stops at most gateway's next start after a
 * boot, which says so: computers and the API come up with the host.
 */
export const ensureCertificate = async (
  projects: ProjectsSettings,
  places: Places,
): Promise<StepResult<void>> => {
  const detail = projects.certificate?.chain ?? "none";
  try {
    const { gid } = await lookUpUser(userNames.gateway);
    const copied = await copyCertificate(projects, places, gid);
    return { outcome: copied ? "done" : "skipped", detail, value: undefined };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { outcome: "skipped", detail: `not taken over: ${why}`, value: undefined };
  }
};
