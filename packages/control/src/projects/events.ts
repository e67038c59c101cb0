import type { NewEvent } from "../domain/events.ts";
import type { ProjectRow } from "../store/projects.ts";

/** `kind` is the second word: `deployed` tells `project.deployed`. */
export const projectEvent = (
  project: ProjectRow,
  kind: string,
  data: Readonly<Record<string, unknown>> = {},
): NewEvent => ({
  accountId: project.account_id,
  kind: `project.${kind}`,
  target: project.id,
  computerId: project.computer_id,
  visibleTo: project.principal_id,
  data: { name: project.name, slug: project.slug, ...data },
});
