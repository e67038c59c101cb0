import type { AgentServiceState } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { AgentFault, AgentUnreachable } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import { getComputer } from "../store/computers.ts";
import { lastDeployments } from "../store/deployments.ts";
import type { ProjectRow } from "../store/projects.ts";
import { listServicesOfProjects, type ServiceRow } from "../store/services.ts";
import type { Database } from "../store/transaction.ts";
import { agentIfAwake, type CellParts } from "../work/index.ts";
import { type ProjectView, projectView } from "./view.ts";

export interface LookingParts extends CellParts {
  readonly db: Database;
  readonly projectsAddress: URL;
  readonly clock: Pick<Clock, "after">;
}

/** Computers asked at the same time for one list. */
const width = 8;
/** How long all of them together are waited for: one that does not answer must not keep its owner from seeing the others, or itself. */
const patienceMs = 3_000;

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
    const states = known ?? (await this.#states(services, signal));
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

  async #states(services: readonly ServiceRow[], signal: AbortSignal): Promise<readonly AgentServiceState[]> {
    const queue = [...new Set(services.map((row) => row.computer_id))];
    const states: AgentServiceState[] = [];
    /** Its own: what an agent says of another computer's is hostile. */
    const isOf = (computerId: string, serviceId: string): boolean =>
      services.some((row) => row.id === serviceId && row.computer_id === computerId);
    const late = new AbortController();
    const worker = async (): Promise<void> => {
      for (let id = queue.shift(); id !== undefined && !late.signal.aborted; id = queue.shift()) {
        const computerId = id;
        const computer = await getComputer(this.#parts.db, computerId);
        const said = computer ? await this.#statesOn(computer, signal, late.signal) : [];
        states.push(...said.filter((state) => isOf(computerId, state.id)));
      }
    };
    const cancel = this.#parts.clock.after(patienceMs, () => late.abort());
    await Promise.all(Array.from({ length: width }, worker)).finally(cancel);
    return states;
  }

  async #statesOn(
    computer: Computer,
    signal: AbortSignal,
    late: AbortSignal,
  ): Promise<readonly AgentServiceState[]> {
    const agent = agentIfAwake(this.#parts, computer);
    if (!agent) return [];
    try {
      const either = AbortSignal.any([signal, late]);
      return (await agent.plain("services.list", {}, { signal: either })).services;
    } catch (error) {
      if (late.aborted || error instanceof AgentFault || error instanceof AgentUnreachable) return [];
      throw error;
    }
  }
}
