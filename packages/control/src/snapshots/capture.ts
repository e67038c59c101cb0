import type { Computer } from "../domain/computer.ts";
import { serviceName } from "../domain/project.ts";
import type { ScheduleDefinitions } from "../domain/schedules.ts";
import { lastDeployments } from "../store/deployments.ts";
import { listLivingProjects, type ProjectRow } from "../store/projects.ts";
import { listServices, type ServiceRow } from "../store/services.ts";
import type { Transaction } from "../store/transaction.ts";
import { definitionOf } from "../work/index.ts";
import type { DefinedProject, DefinedService, Definitions } from "./definitions.ts";

/** What the computer is beside its files at this moment. The caller holds the lock of its row, so none of it changes meanwhile. */
export const capture = async (
  transaction: Transaction,
  computer: Computer,
  schedules: ScheduleDefinitions,
): Promise<Definitions> => {
  const [services, projects, scheduled] = await Promise.all([
    listServices(transaction, computer.id),
    listLivingProjects(transaction, computer.id),
    schedules.read(transaction, computer.id),
  ]);
  const deployments = await lastDeployments(
    transaction,
    projects.map(({ id }) => id),
  );
  return {
    version: 1,
    size: computer.size,
    description: computer.description,
    environment: { ...computer.environment },
    services: services.filter((row) => row.project_id === null).map(definedService),
    projects: projects.map((row) => definedProject(row, services, deployments.get(row.id))),
    schedules: scheduled.map(({ name, project, definition }) => ({
      name,
      project,
      definition: { ...definition },
    })),
  };
};

const definedService = (row: ServiceRow): DefinedService => ({
  name: row.name,
  definition: definitionOf(row),
  desired_state: row.desired_state,
});

const definedProject = (
  row: ProjectRow,
  services: readonly ServiceRow[],
  deployment: { readonly commit: string; readonly message: string } | undefined,
): DefinedProject => {
  const stopped = services
    .filter((service) => service.project_id === row.id && service.desired_state === "stopped")
    .map(({ name }) => name);
  const { deployed_definition: deployed } = row;
  return {
    name: row.name,
    slug: row.slug,
    description: row.description,
    template: row.template as DefinedProject["template"],
    definition: row.definition,
    deployed:
      deployed === null || !deployment
        ? null
        : {
            definition: deployed,
            web_port: row.web_port,
            commit: deployment.commit,
            message: deployment.message,
            stopped: deployed.services
              .map(({ name }) => name)
              .filter((name) => stopped.includes(serviceName(row, name))),
          },
  };
};
