import type { AgentServiceState } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import { noProject } from "../domain/project.ts";
import { getComputers } from "../store/computers.ts";
import { lastDeployments } from "../store/deployments.ts";
import { getProject, type ProjectRow } from "../store/projects.ts";
import { summariesOfProjects } from "../store/run-history.ts";
import { listServicesOfProjects, type ServiceRow } from "../store/services.ts";
import type { Database } from "../store/transaction.ts";
import { type CellParts, serviceStates } from "../work/index.ts";
import { type ProjectView, projectView } from "./view.ts";

export interface ProjectViewsParts extends CellParts {
  readonly db: Database;
  readonly projectsAddress: URL;
  readonly clock: Pick<Clock, "after">;
}

/** Computers asked at the same time for one list. */
const width = 8;
/** How long all of them together are waited for: one that does not answer must not keep its owner from seeing the others, or itself. */
const patienceMs = 3_000;

/** Projects as they are now. Wakes nothing: what a computer that is not awake runs is `unknown`. */
export class ProjectViews {
  readonly #parts: ProjectViewsParts;

  constructor(parts: ProjectViewsParts) {
    this.#parts = parts;
  }

  /** Throws `not_found`. */
  async ofId(id: string, signal: AbortSignal): Promise<ProjectView> {
    const project = await getProject(this.#parts.db, id);
    if (!project) throw noProject(id);
    return this.of(project, signal);
  }

  /** `known`: what was just seen of its services, instead of asking again. */
  async of(
    project: ProjectRow,
    signal: AbortSignal,
    known?: readonly AgentServiceState[],
  ): Promise<ProjectView> {
    const [view] = await this.ofAll([project], signal, known);
    if (!view) throw new Error("a view for each project");
    return view;
  }

  async ofAll(
    projects: readonly ProjectRow[],
    signal: AbortSignal,
    known?: readonly AgentServiceState[],
  ): Promise<readonly ProjectView[]> {
    const { db, projectsAddress } = this.#parts;
    const ids = projects.map(({ id }) => id);
    const [services, deployments, schedules] = await Promise.all([
      listServicesOfProjects(db, ids),
      lastDeployments(db, ids),
      summariesOfProjects(db, ids),
    ]);
    const states = known ?? (await this.#states(services, signal));
    return projects.map((row) =>
      projectView(
        row,
        {
          services: services.filter(({ project_id }) => project_id === row.id),
          states,
          deployment: deployments.get(row.id),
          schedules: schedules.filter(({ schedule }) => schedule.project_id === row.id),
        },
        projectsAddress,
      ),
    );
  }

  async #states(services: readonly ServiceRow[], signal: AbortSignal): Promise<readonly AgentServiceState[]> {
    const ids = [...new Set(services.map((row) => row.computer_id))];
    const queue = [...(await getComputers(this.#parts.db, ids))];
    const states: AgentServiceState[] = [];
    /** Its own: what an agent says of another computer's is hostile. */
    const isOf = (computer: Computer, serviceId: string): boolean =>
      services.some((row) => row.id === serviceId && row.computer_id === computer.id);
    const late = new AbortController();
    const either = AbortSignal.any([signal, late.signal]);
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next && !late.signal.aborted; next = queue.shift()) {
        const computer = next;
        const said = await serviceStates(this.#parts, computer, either).catch((error: unknown) => {
          if (late.signal.aborted) return [];
          throw error;
        });
        states.push(...said.filter(({ id }) => isOf(computer, id)));
      }
    };
    const cancel = this.#parts.clock.after(patienceMs, () => late.abort());
    await Promise.all(Array.from({ length: width }, worker)).finally(cancel);
    return states;
  }
}
