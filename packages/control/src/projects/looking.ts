import type { AgentServiceState } from "@holdfast/contract";
import { AgentFault, AgentUnreachable } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import { getComputer } from "../store/computers.ts";
import { lastDeployments } from "../store/deployments.ts";
import type { ProjectRow } from "../store/projects.ts";
import { listServicesOfProjects } from "../store/services.ts";
import type { Database } from "../store/transaction.ts";
import { agentIfAwake, type CellParts } from "../work/index.ts";
import { type ProjectView, projectView } from "./view.ts";

export interface LookingParts extends CellParts {
  readonly db: Database;
  readonly projectsAddress: URL;
}

/** Computers asked at the same time for one list. */
const width = 8;

/** How projects look now. Wakes nothing: what a computer that is not awake runs is `unknown`. */
export class Looking {
  readonly #parts: LookingParts;

  constructor(parts: LookingParts) {
    this.#parts = parts;
  }

  async at(project: ProjectRow, signal: AbortSignal): Promise<ProjectView> {
    const [view] = await this.atAll([project], signal);
    if (!view) throw new Error("a view for each project");
    return view;
  }

  /** `known`: what was just seen of the services, instead of asking again. */
  async atAll(
    projects: readonly ProjectRow[],
    signal: AbortSignal,
    known?: readonly AgentServiceState[],
  ): Promise<readonly ProjectView[]> {
    const { db, projectsAddress } = this.#parts;
    const ids = projects.map(({ id }) => id);
    const [services, deployments] = await Promise.all([
      listServicesOfProjects(db, ids),
      lastDeployments(db, ids),
    ]);
    const withServices = new Set(services.map((row) => row.computer_id));
    const states = known ?? (await this.#states([...withServices], signal));
    return projects.map((row) =>
      projectView(
        row,
        {
          services: services.filter(({ project_id }) => project_id === row.id),
          states,
          deployment: deployments.get(row.id),
        },
        projectsAddress,
      ),
    );
  }

  async #states(computerIds: readonly string[], signal: AbortSignal): Promise<readonly AgentServiceState[]> {
    const queue = [...computerIds];
    const states: AgentServiceState[] = [];
    const worker = async (): Promise<void> => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
        const computer = await getComputer(this.#parts.db, id);
        if (computer) states.push(...(await this.#statesOn(computer, signal)));
      }
    };
    await Promise.all(Array.from({ length: width }, worker));
    return states;
  }

  async #statesOn(computer: Computer, signal: AbortSignal): Promise<readonly AgentServiceState[]> {
    const agent = agentIfAwake(this.#parts, computer);
    if (!agent) return [];
    try {
      return (await agent.plain("services.list", {}, { signal })).services;
    } catch (error) {
      if (error instanceof AgentFault || error instanceof AgentUnreachable) return [];
      throw error;
    }
  }
}
