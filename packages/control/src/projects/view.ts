import { type AgentServiceState, opensEverything, type OperationOutput } from "@holdfast/contract";
import { serviceName } from "../domain/project.ts";
import { projectAddress } from "../lib/address.ts";
import { timestamp, timestampOrNull } from "../lib/timestamp.ts";
import type { DeploymentRow } from "../store/deployments.ts";
import type { ProjectRow } from "../store/projects.ts";
import type { ScheduleSummary } from "../store/run-history.ts";
import type { ServiceRow } from "../store/services.ts";
import { type ServiceView, serviceView } from "../work/index.ts";
import { folderOf } from "./definition.ts";

export type ProjectView = OperationOutput<"project.get">;
type DeploymentView = NonNullable<ProjectView["deployment"]>;

/** What a view is made of besides the project's row. */
export interface Seen {
  readonly services: readonly ServiceRow[];
  /** What the computer's agent says; nothing while it is not awake. */
  readonly states: readonly AgentServiceState[];
  readonly deployment: DeploymentRow | undefined;
  readonly schedules: readonly ScheduleSummary[];
}

/** `projectsAddress` is the origin of projects without the slug. */
export const projectView = (row: ProjectRow, seen: Seen, projectsAddress: URL): ProjectView => {
  const services = seen.services.map((service) =>
    serviceView(
      service,
      seen.states.find(({ id }) => id === service.id),
    ),
  );
  const view: ProjectView = {
    id: row.id,
    name: row.name,
    slug: row.slug,
    description: row.description,
    computer: row.computer_id,
    folder: folderOf(row),
    address: projectAddress(projectsAddress, row.slug),
    visibility: row.published === null ? ("private" as const) : ("published" as const),
    published: row.published === null ? null : [...row.published],
    template: row.template,
    definition: row.definition,
    state: stateOf(row, services),
    services,
    deployment: seen.deployment ? deploymentView(seen.deployment) : null,
    schedules: seen.schedules.map(summaryView),
    owner: row.principal_id,
    next: [],
    created_at: timestamp(row.created_at_ms),
    updated_at: timestamp(row.updated_at_ms),
    version: String(row.version),
  };
  const due = seen.deployment !== undefined && seen.deployment.definition_version < row.definition_version;
  return { ...view, next: row.state === "destroyed" ? [] : nextOf(view, due) };
};

export const deploymentView = (row: DeploymentRow): DeploymentView => ({
  id: row.id,
  commit: row.commit,
  message: row.message,
  principal: row.principal_id,
  definition_version: String(row.definition_version),
  deployed_at: timestamp(row.at_ms),
});

const summaryView = ({ schedule, last }: ScheduleSummary): ProjectView["schedules"][number] => ({
  id: schedule.id,
  name: schedule.name,
  state: schedule.state === "deleted" ? "ended" : schedule.state,
  next_slot: timestampOrNull(schedule.next_slot_ms),
  last_run: last
    ? {
        id: last.id,
        state: last.state,
        reason: last.reason,
        created_at: timestamp(last.created_at_ms),
        ended_at: timestampOrNull(last.ended_at_ms),
      }
    : null,
});

const stateOf = (row: ProjectRow, services: readonly ServiceView[]): ProjectView["state"] => {
  if (row.state === "destroyed") return "stopped";
  if (row.deployed_definition === null) return "not_deployed";
  const { web } = row.deployed_definition;
  if (web === null) return "no_service";
  const service = services.find(({ name }) => name === serviceName(row, web));
  return states[service?.state ?? "unknown"];
};

/** `unknown`: the computer is not awake, so nothing of it runs until somebody comes. */
const states: Readonly<Record<ServiceView["state"], ProjectView["state"]>> = {
  ready: "running",
  starting: "starting",
  waiting: "starting",
  unhealthy: "failed",
  backoff: "failed",
  failed: "failed",
  stopped: "stopped",
  stopping: "stopped",
  unknown: "stopped",
};

/** `due`: the definition has changed since it was deployed. */
const nextOf = (view: ProjectView, due: boolean): string[] => {
  const files = `The files are in ${view.folder} on the computer ${view.computer}: change them (file_write, file_edit, exec), then call project_deploy.`;
  const troubled = view.services.filter(
    ({ state, desired_state }) => desired_state === "running" && state !== "ready" && state !== "unknown",
  );
  const now = [
    ...troubled.map(
      ({ name, state }) =>
        `${name} is ${state}: service_logs {computer: ${view.computer}, service: ${name}} says why.`,
    ),
    ...(view.services.some(({ state }) => state === "unknown")
      ? [
          "Nothing of it runs: its computer sleeps or is stopped. A visit, a deploy or computer_wake starts it.",
        ]
      : []),
    ...(due ? ["What it should run has changed: project_deploy makes it so."] : []),
  ];
  if (view.definition.web === null)
    return [
      ...now,
      files,
      'Nothing is behind the address yet: declare it with project_update, for example definition {"services": [{"name": "web", "command": "python3 -m http.server $PORT"}], "web": "web"}, then project_deploy.',
    ];
  const open =
    view.visibility === "private"
      ? [
          `The address is private. Look at it with your key: curl -H 'Holdfast-Key: <your key>' ${view.address}/`,
          `Ask an owner to look (holdfast projects open ${view.slug}) and to open it to everyone (holdfast projects publish ${view.slug}).`,
        ]
      : [
          `Everyone reaches it at ${view.address}${view.published?.some(opensEverything) === true ? "" : ", as far as `published` says"}.`,
        ];
  return [...now, files, ...open];
};
