import { HoldfastError, limits } from "@holdfast/contract";
import { serviceName } from "../domain/project.ts";
import type { ProjectDefinition, ProjectRow } from "../store/projects.ts";
import type { ServiceRow } from "../store/services.ts";
import { checkDefinition, type Definition, definitionOf } from "../work/index.ts";

type ProjectService = ProjectDefinition["services"][number];

/** What a project's service is on its computer. */
export interface DeployedService {
  readonly name: string;
  readonly definition: Definition;
}

export const folderOf = (project: Pick<ProjectRow, "name">): string => `/work/${project.name}`;

/** Throws `invalid_input` for what no single field shows: size, names, references, checks without a port. */
export const checkProject = (definition: ProjectDefinition): void => {
  // Each list of projects shows it whole.
  if (Buffer.byteLength(JSON.stringify(definition)) > limits.projectDefinitionBytes)
    throw invalid(
      ["services"],
      `over ${limits.projectDefinitionBytes} bytes together: put large values and long commands into files`,
    );
  const names = definition.services.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(["services"], `two services are called ${twice}`);
  const { web } = definition;
  if (web !== null && !names.includes(web)) throw invalid(["web"], `there is no service ${web} in it`);
  for (const [index, { after }] of definition.services.entries()) {
    const missing = after.find((name) => !names.includes(name));
    if (missing !== undefined)
      throw invalid(["services", String(index), "after"], `there is no service ${missing} in the project`);
  }
  // The web service's port is known when it is deployed; any will do to look at the rest.
  const services = servicesOf({ name: "project" }, definition, limits.projectPortFirst, {});
  for (const [index, { name, definition: one }] of services.entries())
    try {
      checkDefinition(
        name,
        one,
        services
          .filter((other) => other.name !== name)
          .map((other) => ({ ...other, definition: { ...other.definition } })),
      );
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      throw invalid(["services", String(index)], error.message);
    }
};

/** The services of a project as its computer has them. `webPort` is the web service's when its definition names none. */
export const servicesOf = (
  project: Pick<ProjectRow, "name">,
  definition: ProjectDefinition,
  webPort: number | null,
  environment: Readonly<Record<string, string>>,
): readonly DeployedService[] =>
  definition.services.map((service) => {
    const port = service.port ?? (service.name === definition.web ? webPort : null);
    return {
      name: serviceName(project, service.name),
      definition: definitionIn(project, service, port, environment),
    };
  });

const definitionIn = (
  project: Pick<ProjectRow, "name">,
  { name: _name, port: _port, cwd, after, environment, ...rest }: ProjectService,
  port: number | null,
  added: Readonly<Record<string, string>>,
): Definition => {
  const inside = cwd.split("/").filter((part) => part !== "" && part !== ".");
  return {
    ...rest,
    cwd: [folderOf(project), ...inside].join("/"),
    environment: { ...environment, ...added },
    user: { uid: 0, gid: 0 },
    after: after.map((name) => serviceName(project, name)),
    ...(port === null ? {} : { port }),
  };
};

/**
 * The port of the web service, null when there is none. One that is given is the same as before while nothing else of the computer has it,
 * so that what is open stays reachable from one deploy to the next. Throws `limit_reached` when all are taken.
 */
export const webPortOf = (
  definition: ProjectDefinition,
  before: number | null,
  others: readonly ServiceRow[],
): number | null => {
  const web = definition.services.find(({ name }) => name === definition.web);
  if (!web) return null;
  if (web.port !== undefined) return web.port;
  const taken = new Set([
    ...others.map((row) => definitionOf(row).port),
    ...definition.services.map(({ port }) => port),
  ]);
  const { projectPortFirst: first, projectPortLast: last } = limits;
  if (before !== null && before >= first && before <= last && !taken.has(before)) return before;
  for (let port = first; port <= last; port += 1) if (!taken.has(port)) return port;
  throw new HoldfastError("limit_reached", `all ports from ${first} to ${last} are in use on the computer`, {
    limit: last - first + 1,
  });
};

const invalid = (path: readonly string[], message: string): HoldfastError =>
  new HoldfastError("invalid_input", `definition.${path.join(".")}: ${message}`, {
    issues: [{ path: ["definition", ...path], message }],
  });
