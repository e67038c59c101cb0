import { idPattern, limits, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { Clock, CrashPoint } from "@holdfast/kit";
import { findComputer } from "../computers/index.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { Principal } from "../domain/principal.ts";
import { noProject } from "../domain/project.ts";
import { refuseStale } from "../domain/version.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { getComputer, lockComputer } from "../store/computers.ts";
import {
  changeProject,
  destroyProjects,
  findNamed,
  listProjects,
  lockProject,
  type ProjectRow,
  touchRoute,
} from "../store/projects.ts";
import { deleteSchedules } from "../store/schedules.ts";
import { deleteServicesOfProject, nextRevision } from "../store/services.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { type CellParts, refuseFailed, type ServiceKeeper, withAgent } from "../work/index.ts";
import { deleteAll } from "./cell-files.ts";
import { checkProject, folderOf } from "./definition.ts";
import type { Deployed, Deployer } from "./deployer.ts";
import { projectEvent } from "./events.ts";
import { findProject } from "./find.ts";
import type { Git } from "./git.ts";
import { Repository } from "./repository.ts";
import type { Turns } from "./turns.ts";
import { deploymentView, type ProjectView } from "./view.ts";
import type { ProjectViews } from "./views.ts";

export interface ProjectsParts extends CellParts {
  readonly db: Database;
  readonly keeper: ServiceKeeper;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
  readonly computers: Computers;
  readonly deployer: Deployer;
  readonly views: ProjectViews;
  readonly git: Git;
  readonly turns: Turns;
}

/** A project whose row says what is wanted by now. */
export interface FoundProject {
  readonly target: string;
  readonly project: ProjectRow;
  readonly computer: Computer;
}

type DeployOutput = OperationOutput<"project.deploy">;

/** What callers ask of projects that live. */
export class Projects {
  readonly #parts: ProjectsParts;

  constructor(parts: ProjectsParts) {
    this.#parts = parts;
  }

  /** Throws `not_found`, also for what the principal may not see. */
  async find(db: Database | Transaction, principal: Principal, ref: string): Promise<FoundProject> {
    const project = await findProject(db, principal, ref);
    const computer = await getComputer(db, project.computer_id);
    if (!computer) throw noProject(ref);
    return { target: project.id, project, computer };
  }

  /** For what runs in its computer. */
  async findToRun(
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
  ): Promise<FoundProject> {
    const found = await this.find(transaction, principal, ref);
    refuseFailed(found.computer);
    return found;
  }

  async list(
    { principal, signal }: OperationContext,
    params: OperationParams<"project.list">,
  ): Promise<OperationOutput<"project.list">> {
    const { db, views } = this.#parts;
    const computer =
      params.computer === undefined ? undefined : await findComputer(db, principal, params.computer);
    const rows = await listProjects(db, {
      principal,
      computerId: computer?.id,
      before: decodeCursor(params.cursor, idPattern("project")),
      limit: params.limit + 1,
    });
    const page = pageOf(rows, params.limit, ({ id }) => id);
    return { projects: [...(await views.ofAll(page.rows, signal))], next_cursor: page.nextCursor };
  }

  async update(
    transaction: Transaction,
    { principal }: OperationContext,
    params: OperationParams<"project.update">,
  ): Promise<{ readonly target: string; readonly project: ProjectRow }> {
    const { clock, events } = this.#parts;
    const project = await findProject(transaction, principal, params.project, { lock: true });
    refuseStale("project", project, params.if_match);
    if (params.definition) checkProject(params.definition);
    const changed = await changeProject(transaction, project.id, params, clock.now());
    await events.append(transaction, projectEvent(changed, "project.updated"));
    return { target: project.id, project: changed };
  }

  /** Commits all that is in the folder and runs it. */
  deploy(
    context: OperationContext,
    { project, computer }: FoundProject,
    params: Pick<OperationParams<"project.deploy">, "message" | "wait_ms">,
    signal: AbortSignal,
  ): Promise<DeployOutput> {
    return this.#parts.turns.take(project.id, async () => {
      const repository = this.repository(project, computer, signal);
      const commit = await repository.commitAll(params.message, context.principal);
      this.#parts.crashPoint("project-committed");
      return this.#run(context, project, repository, commit, params.wait_ms);
    });
  }

  /** Brings back the files of an earlier commit, as a new one, and runs it. */
  restore(
    context: OperationContext,
    { project, computer }: FoundProject,
    params: OperationParams<"project.restore">,
    signal: AbortSignal,
  ): Promise<DeployOutput> {
    return this.#parts.turns.take(project.id, async () => {
      const { principal } = context;
      const repository = this.repository(project, computer, signal);
      const old = await repository.commit(params.commit);
      await repository.commitAll(`Before restoring ${old.slice(0, shortId)}`, principal);
      await repository.checkOut(old);
      const message = `Restore ${old.slice(0, shortId)}`;
      const commit = await repository.commitIndex(message, principal);
      this.#parts.crashPoint("project-committed");
      return this.#run(context, project, repository, commit, params.wait_ms);
    });
  }

  async #run(
    context: OperationContext,
    project: ProjectRow,
    repository: Repository,
    commit: string,
    waitMs: number,
  ): Promise<DeployOutput> {
    const { principal, operationId } = context;
    // With nothing new to commit it is an earlier commit that runs, whatever message was asked for.
    const message = await repository.subject(commit);
    const deployed = await this.#parts.deployer.write({ project, commit, message, principal, operationId });
    return this.startAndShow(context, deployed, waitMs);
  }

  /** Starts what was written down, and shows it with the states it has by then. */
  async startAndShow(
    { signal, startedAtMs }: Pick<OperationContext, "signal" | "startedAtMs">,
    deployed: Deployed,
    waitMs: number,
  ): Promise<DeployOutput> {
    const { clock, deployer, views } = this.#parts;
    // Getting here took its time too, and clients lose patience.
    const leftMs = Math.max(0, Math.min(waitMs, startedAtMs + limits.waitMs - clock.now()));
    const states = await deployer.start(deployed, leftMs, signal);
    const project = await views.of(deployed.project, signal, states);
    return { project, deployment: deploymentView(deployed.deployment) };
  }

  /** Gives up services and address at once; what is left is to tell the computer. Destroying what is destroyed already is fine. */
  async destroy(
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
  ): Promise<FoundProject> {
    const { clock, events } = this.#parts;
    const found = await findProject(transaction, principal, ref, { destroyed: true });
    // Its computer's row first, as all others take them.
    const computer = await lockComputer(transaction, found.computer_id);
    const project = await lockProject(transaction, found.id);
    if (!project || !computer) throw noProject(ref);
    const [destroyed] = await destroyProjects(transaction, { id: project.id }, clock.now());
    if (!destroyed) return { target: project.id, project, computer };
    await deleteServicesOfProject(transaction, project.id);
    await deleteSchedules(transaction, { projectId: project.id }, "its project was destroyed");
    await nextRevision(transaction, computer.id);
    await events.append(transaction, projectEvent(destroyed, "project.destroyed"));
    await touchRoute(transaction, project.id);
    return { target: project.id, project: destroyed, computer };
  }

  /**
   * After `destroy`: tells the computer, and deletes the files if that was asked for. Throws when they cannot be deleted; the project is
   * destroyed all the same.
   */
  async finishDestroy(
    { project, computer }: FoundProject,
    deleteFiles: boolean,
    signal: AbortSignal,
  ): Promise<ProjectView> {
    const { keeper, db, views, crashPoint } = this.#parts;
    crashPoint("project-destroyed");
    if (computer.desiredState !== "destroyed") {
      await keeper.pushIfAwake(computer);
      // Its folder is another's by now if there is a new project of the name.
      if (deleteFiles && !(await findNamed(db, computer.id, project.name)))
        await withAgent(
          this.#parts,
          computer,
          signal,
          (agent) => deleteAll(agent, folderOf(project), signal),
          { repeatable: true },
        );
    }
    return views.of(project, signal);
  }

  repository(project: ProjectRow, computer: Computer, signal: AbortSignal): Repository {
    return new Repository(this.#parts.git, { computer, folder: folderOf(project), signal });
  }
}

const shortId = 12;
