import { type AgentServiceState, HoldfastError, limits } from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Principal } from "../domain/principal.ts";
import type { ProjectSchedules, StarterSchedule } from "../domain/schedules.ts";
import { lockComputer } from "../store/computers.ts";
import { type DeploymentRow, insertDeployment } from "../store/deployments.ts";
import { lockProject, type ProjectRow, touchRoute, writeDeployed } from "../store/projects.ts";
import {
  changeService,
  deleteService,
  insertService,
  listServices,
  nextRevision,
  type ServiceRow,
} from "../store/services.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import {
  type CellParts,
  isNotNow,
  type Progress,
  refuseOversized,
  type ServiceKeeper,
  waitForReady,
  withAgent,
} from "../work/index.ts";
import { type DeployedService, servicesOf, webPortOf } from "./definition.ts";
import { projectEvent } from "./events.ts";

export interface DeployerParts extends CellParts {
  readonly store: Store;
  readonly keeper: ServiceKeeper;
  readonly schedules: ProjectSchedules;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

/** What is to run from now on. */
export interface Deploying {
  readonly project: ProjectRow;
  readonly commit: string;
  readonly message: string;
  readonly principal: Principal;
  readonly operationId: string;
  /** Made with a project that was being created; absent: none. */
  readonly schedules?: readonly StarterSchedule[];
}

export interface Deployed {
  readonly project: ProjectRow;
  readonly computer: Computer;
  readonly services: readonly ServiceRow[];
  readonly deployment: DeploymentRow;
}

/** Set for every service: another deployment is another environment, so even one whose code alone has changed is started anew. */
export const deploymentVariable = "HOLDFAST_DEPLOYMENT";

/** Makes what a project runs equal to its definition: written down whole first, then sent to the computer. */
export class Deployer {
  readonly #parts: DeployerParts;

  constructor(parts: DeployerParts) {
    this.#parts = parts;
  }

  /**
   * One durable commit: services, web port, deployment, and that a project that was being created lives. Should control end after it, the set is
   * sent to the computer when that is looked at next. Throws `not_found`, `name_taken`, `limit_reached`; then nothing was written.
   */
  async write(deploying: Deploying): Promise<Deployed> {
    const { store, events, schedules, clock, crashPoint, ids } = this.#parts;
    const { principal, schedules: starters = [] } = deploying;
    crashPoint("project-before-deployed");
    const deployed = await store.transaction(async (transaction) => {
      const computer = await lockComputer(transaction, deploying.project.computer_id);
      const project = await lockProject(transaction, deploying.project.id);
      if (!computer || computer.desiredState === "destroyed" || !project || project.state === "destroyed")
        throw new HoldfastError("not_found", `project ${deploying.project.name} is destroyed by now`, {
          project: deploying.project.id,
        });
      const nowMs = clock.now();
      const deployment: DeploymentRow = {
        id: ids("deployment"),
        project_id: project.id,
        operation_id: deploying.operationId,
        commit: deploying.commit,
        message: deploying.message,
        principal_id: principal.id,
        definition_version: project.definition_version,
        at_ms: nowMs,
      };
      const rows = await listServices(transaction, computer.id);
      const others = rows.filter((row) => row.project_id !== project.id);
      const webPort = webPortOf(project.definition, project.web_port, others);
      const services = servicesOf(project, project.definition, webPort, {
        [deploymentVariable]: deployment.id,
      });
      refuseClashes(computer, others, services);
      const before = rows.filter((row) => row.project_id === project.id);
      const written = await this.#replace(transaction, computer, project, before, services);
      refuseOversized(computer, [...others, ...written]);
      const lives = await writeDeployed(transaction, project.id, {
        definition: project.definition,
        webPort,
        nowMs,
      });
      await nextRevision(transaction, computer.id);
      await insertDeployment(transaction, deployment, limits.deploymentsKept);
      const created = project.state === "creating";
      if (created && starters.length > 0)
        await schedules.add(transaction, computer, lives, starters, principal);
      await events.append(
        transaction,
        ...(created ? [projectEvent(lives, "project.created")] : []),
        projectEvent(lives, "project.deployed", { commit: deployment.commit, deployment: deployment.id }),
      );
      if (created || project.web_port !== webPort) await touchRoute(transaction, project.id);
      return { project: lives, computer, services: written, deployment };
    });
    crashPoint("project-deployed");
    return deployed;
  }

  /** Sends the set and waits until each service is ready or failed, at most `waitMs`. Empty when the computer cannot be reached: what was written stands. */
  async start(
    { computer, services }: Deployed,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly AgentServiceState[]> {
    const { keeper, clock } = this.#parts;
    try {
      return await withAgent(
        this.#parts,
        computer,
        signal,
        async (agent) => {
          const before = await keeper.push(computer);
          const states = await Promise.all(
            services.map(({ id }) => {
              const restarts = before.find((state) => state.id === id)?.restarts ?? 0;
              // One that ends over and over will hardly become ready, and its log says why by then.
              const decided = (now: Progress): boolean => now.restarts >= restarts + hopelessRestarts;
              return waitForReady(agent, clock, id, { waitMs, decided, signal });
            }),
          );
          await keeper.tell(computer, services, states);
          return states;
        },
        { repeatable: true },
      );
    } catch (error) {
      // A service that another deploy, or the project's end, has taken away meanwhile is `not_found`.
      const gone = error instanceof HoldfastError && error.code === "not_found";
      if (signal.aborted || gone || isNotNow(error)) return [];
      throw error;
    }
  }

  async #replace(
    transaction: Transaction,
    computer: Computer,
    project: ProjectRow,
    before: readonly ServiceRow[],
    services: readonly DeployedService[],
  ): Promise<readonly ServiceRow[]> {
    const { ids, clock } = this.#parts;
    for (const row of before)
      if (!services.some(({ name }) => name === row.name)) await deleteService(transaction, row.id);
    const written: ServiceRow[] = [];
    for (const { name, definition } of services) {
      const row = before.find((one) => one.name === name);
      const what = { definition: { ...definition }, baseEnvironment: computer.environment };
      written.push(
        row
          ? await changeService(transaction, row.id, { ...what, desiredState: "running" }, clock.now())
          : await insertService(transaction, {
              id: ids("service"),
              computerId: computer.id,
              projectId: project.id,
              name,
              ...what,
              nowMs: clock.now(),
            }),
      );
    }
    return written;
  }
}

/** More may be a service that waits for another to come up. */
const hopelessRestarts = 3;

const refuseClashes = (
  computer: Computer,
  others: readonly ServiceRow[],
  services: readonly DeployedService[],
): void => {
  if (others.length + services.length > limits.servicesPerComputer)
    throw new HoldfastError(
      "limit_reached",
      `${computer.name} has ${others.length} other services, and ${services.length} more are too many`,
      { limit: limits.servicesPerComputer },
    );
  const taken = services.find(({ name }) => others.some((row) => row.name === name));
  if (taken)
    throw new HoldfastError(
      "name_taken",
      `${computer.name} has a service ${taken.name} that is not this project's: delete that, or call this one something else in the definition`,
      { name: taken.name },
    );
};
