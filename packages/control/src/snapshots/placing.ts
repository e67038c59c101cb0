import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { ScheduleDefinitions } from "../domain/schedules.ts";
import { deploymentVariable, servicesOf, slugCandidates } from "../projects/index.ts";
import { insertDeployment } from "../store/deployments.ts";
import {
  changeProject,
  insertProject,
  listLivingProjects,
  placeProject,
  type ProjectRow,
  touchRoute,
} from "../store/projects.ts";
import {
  changeService,
  deleteService,
  insertService,
  listServices,
  nextRevision,
  type ServiceRow,
} from "../store/services.ts";
import { takeSlug } from "../store/slugs.ts";
import type { Transaction } from "../store/transaction.ts";
import { type Definition, refuseOversized } from "../work/index.ts";
import type { DefinedProject, Definitions } from "./definitions.ts";

export interface PlacingParts {
  readonly schedules: ScheduleDefinitions;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly random: (bytes: number) => Buffer;
}

export interface PlaceOptions {
  /** Stands in the deployments that it makes. */
  readonly operationId: string;
  readonly principalId: string;
  /** Schedules have no slots until somebody resumes them. Else they are as they were. */
  readonly pauseSchedules: boolean;
}

interface WantedService {
  readonly name: string;
  readonly projectId: string | null;
  readonly definition: Definition;
  readonly desiredState: "running" | "stopped";
}

/**
 * Makes services, projects and schedules of a computer those of `definitions`, in the caller's transaction, which holds the lock of the computer's
 * row; call it last. What has the same name stays the one it is, with its id and address; a project without its like has an address of its own,
 * private. A living project that the definitions do not know stays with its address, and nothing of it runs: its files were put away.
 */
export const placeDefinitions = async (
  parts: PlacingParts,
  transaction: Transaction,
  computer: Computer,
  definitions: Definitions,
  options: PlaceOptions,
): Promise<void> => {
  const before = await listLivingProjects(transaction, computer.id);
  const services: WantedService[] = definitions.services.map(({ name, definition, desired_state }) => ({
    name,
    projectId: null,
    definition,
    desiredState: desired_state,
  }));
  const touched: string[] = [];
  for (const defined of definitions.projects) {
    const row =
      before.find(({ name }) => name === defined.name) ??
      (await insert(parts, transaction, computer, defined, options));
    const placed = await place(parts, transaction, row, defined, options);
    services.push(...placed);
    touched.push(row.id);
  }
  for (const row of before)
    if (!definitions.projects.some(({ name }) => name === row.name)) {
      await placeProject(transaction, row.id, null, parts.clock.now());
      touched.push(row.id);
    }
  await replaceServices(parts, transaction, computer, services);
  await parts.schedules.replace(transaction, computer, definitions.schedules, {
    paused: options.pauseSchedules,
  });
  await touchRoute(transaction, ...touched);
};

const insert = async (
  { ids, clock, random }: PlacingParts,
  transaction: Transaction,
  computer: Computer,
  defined: DefinedProject,
  { operationId }: PlaceOptions,
): Promise<ProjectRow> => {
  const fresh = {
    id: ids("project"),
    accountId: computer.accountId,
    computerId: computer.id,
    principalId: computer.principalId,
    operationId,
    name: defined.name,
    description: defined.description,
    template: defined.template,
    definition: defined.definition,
    nowMs: clock.now(),
  };
  for (const slug of slugCandidates(defined.name, undefined, random))
    if (await takeSlug(transaction, { ...fresh, slug }))
      return insertProject(transaction, { ...fresh, slug });
  throw new HoldfastError("name_taken", `no address is free for the project ${defined.name}`, {
    name: defined.name,
  });
};

/** Its definition and what is deployed of it; answers the services that it runs with. */
const place = async (
  { ids, clock }: PlacingParts,
  transaction: Transaction,
  row: ProjectRow,
  { definition, deployed }: DefinedProject,
  { operationId, principalId }: PlaceOptions,
): Promise<readonly WantedService[]> => {
  const nowMs = clock.now();
  const isSame = JSON.stringify(row.definition) === JSON.stringify(definition);
  const changed = isSame ? row : await changeProject(transaction, row.id, { definition }, nowMs);
  if (deployed === null) {
    await placeProject(transaction, row.id, null, nowMs);
    return [];
  }
  await placeProject(
    transaction,
    row.id,
    { definition: deployed.definition, webPort: deployed.web_port },
    nowMs,
  );
  const id = ids("deployment");
  await insertDeployment(
    transaction,
    {
      id,
      project_id: row.id,
      operation_id: operationId,
      commit: deployed.commit,
      message: deployed.message,
      principal_id: principalId,
      definition_version: changed.definition_version,
      at_ms: nowMs,
    },
    limits.deploymentsKept,
  );
  const wanted = servicesOf(row, deployed.definition, deployed.web_port, { [deploymentVariable]: id });
  return deployed.definition.services.flatMap(({ name }, index) => {
    const service = wanted[index];
    if (!service) return [];
    const desiredState = deployed.stopped.includes(name) ? ("stopped" as const) : ("running" as const);
    return [{ ...service, projectId: row.id, desiredState }];
  });
};

const replaceServices = async (
  { ids, clock }: PlacingParts,
  transaction: Transaction,
  computer: Computer,
  wanted: readonly WantedService[],
): Promise<void> => {
  const rows = await listServices(transaction, computer.id);
  const likeOf = ({ name, projectId }: WantedService): ServiceRow | undefined =>
    rows.find((row) => row.name === name && row.project_id === projectId);
  const kept = new Set(wanted.map((service) => likeOf(service)?.id));
  for (const row of rows) if (!kept.has(row.id)) await deleteService(transaction, row.id);
  const written: ServiceRow[] = [];
  for (const service of wanted) {
    const row = likeOf(service);
    const what = {
      definition: { ...service.definition },
      baseEnvironment: computer.environment,
      desiredState: service.desiredState,
    };
    written.push(
      row
        ? await changeService(transaction, row.id, what, clock.now())
        : await insertService(transaction, {
            id: ids("service"),
            computerId: computer.id,
            projectId: service.projectId,
            name: service.name,
            ...what,
            nowMs: clock.now(),
          }),
    );
  }
  refuseOversized(computer, written);
  if (rows.length + written.length > 0) await nextRevision(transaction, computer.id);
};
