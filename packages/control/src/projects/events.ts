import type { NewEvent } from "../domain/events.ts";
import type { ProjectRow } from "../store/projects.ts";

/** Something about a project that its assistant may know too. Name and slug are in each. */
export const projectEvent = (project: ProjectRow, kind: string, data: NewEvent["data"] = {}): NewEvent => ({
  accountId: project.account_id,
  kind,
  target: project.id,
  computerId: project.computer_id,
  visibleTo: project.principal_id,
  data: { name: project.name, slug: project.slug, ...data },
});
