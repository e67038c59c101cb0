import { HoldfastError, limits } from "@holdfast/contract";

/** What a project's service is called on its computer. */
export const serviceName = (project: { readonly name: string }, service: string): string =>
  `${project.name}-${service}`;

/** The same of a schedule, and never too long to be called by it: of two projects whose long names begin alike one is then refused. */
export const scheduleName = (project: { readonly name: string }, schedule: string): string =>
  `${project.name.slice(0, limits.nameLength - schedule.length - 1).replace(/-$/, "")}-${schedule}`;

/** Also for what the principal may not see: nobody learns that there is one. */
export const noProject = (ref: string): HoldfastError =>
  new HoldfastError("not_found", `there is no project ${ref}`, { project: ref });
