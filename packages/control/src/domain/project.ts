import { HoldfastError } from "@holdfast/contract";

/** What a project's service is called on its computer. */
export const serviceName = (project: { readonly name: string }, service: string): string =>
  `${project.name}-${service}`;

/** Also for what the principal may not see: nobody learns that there is one. */
export const noProject = (ref: string): HoldfastError =>
  new HoldfastError("not_found", `there is no project ${ref}`, { project: ref });
