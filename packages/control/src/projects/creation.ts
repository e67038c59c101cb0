import { HoldfastError, limits, type OperationParams } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import { findComputer } from "../computers/index.ts";
import type { Agent } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { Principal } from "../domain/principal.ts";
import { scheduleName } from "../domain/project.ts";
import type { StarterSchedule } from "../domain/schedules.ts";
import { tarOf } from "../lib/tar.ts";
import { readTemplate, type Template } from "../lib/templates.ts";
import { isUniqueViolation } from "../store/errors.ts";
import {
  countProjects,
  deleteCreating,
  findNamed,
  insertProject,
  lockProject,
  type NewProject,
  type ProjectRow,
  projectSlugIndex,
} from "../store/projects.ts";
import { giveBackSlug, takeSlug } from "../store/slugs.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import { type CellParts, refuseFailed, withAgent } from "../work/index.ts";
import { deleteAll, isMissing } from "./cell-files.ts";
import { folderOf } from "./definition.ts";
import type { Deployed, Deployer } from "./deployer.ts";
import type { Git } from "./git.ts";
import { Repository } from "./repository.ts";
import { slugCandidates } from "./slugs.ts";

export interface CreationParts extends CellParts {
  readonly store: Store;
  readonly deployer: Deployer;
  readonly git: Git;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly random: (bytes: number) => Buffer;
}

export interface AdmittedProject {
  readonly target: string;
  readonly project: ProjectRow;
  readonly computer: Computer;
  readonly template: Template;
}

/**
 * Makes projects. All is made beside, under a name that nobody else uses, then moved to its place, then written down as living: what is cut off
 * before that is taken back, here or by the caretaker, and leaves neither folder nor name nor address.
 */
export class Creation {
  readonly #parts: CreationParts;

  constructor(parts: CreationParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    { principal, operationId }: OperationContext,
    params: OperationParams<"project.create">,
  ): Promise<AdmittedProject> {
    const template = await readTemplate(params.template);
    const computer = refuseFailed(
      await findComputer(transaction, principal, params.computer, { lock: true }),
    );
    const there = await countProjects(transaction, computer.id);
    if (there >= limits.projectsPerComputer)
      throw new HoldfastError("limit_reached", `${computer.name} has ${there} projects`, {
        limit: limits.projectsPerComputer,
      });
    const named = await findNamed(transaction, computer.id, params.name);
    if (named) throw nameTaken(computer, named);
    const project = await this.#insert(transaction, params.slug, {
      id: this.#parts.ids("project"),
      accountId: computer.accountId,
      computerId: computer.id,
      // Whose computer it is on can do all with it anyway.
      principalId: computer.principalId,
      operationId,
      name: params.name,
      description: params.description,
      template: params.template,
      definition: template.definition,
      nowMs: this.#parts.clock.now(),
    });
    return { target: project.id, project, computer, template };
  }

  /** Throws what kept it from being made; then nothing is left, and it may be asked for again. */
  async make(
    { principal, operationId }: OperationContext,
    { project, computer, template }: AdmittedProject,
    signal: AbortSignal,
  ): Promise<Deployed> {
    this.#parts.crashPoint("project-create-admitted");
    const touched = { cell: false };
    try {
      const commit = await this.#build(project, computer, template, principal, touched, signal);
      return await this.#parts.deployer.write({
        project,
        commit,
        message: firstMessage(project),
        principal,
        operationId,
        schedules: schedulesIn(project, template),
      });
    } catch (error) {
      // When control ends, the next one does it.
      if (!signal.aborted) await this.takeBack(project, touched.cell ? computer : undefined);
      throw error;
    }
  }

  /**
   * Of a creation that nobody works on. Without `computer` nothing of it is on a disk. When that cannot be reached it is left to the caretaker's
   * next look. Does nothing to a project that lives.
   */
  async takeBack(project: ProjectRow, computer: Computer | undefined): Promise<void> {
    const { store, crashPoint, logger } = this.#parts;
    // A commit whose answer was lost may have been made all the same. The lock waits for one that is still on its way.
    const now = await store.transaction((transaction) => lockProject(transaction, project.id));
    if (now?.state !== "creating") return;
    if (computer && computer.desiredState !== "destroyed")
      try {
        await this.#clear(project, computer);
      } catch (error) {
        logger.info("a project that was not made is not taken back yet", { project: project.id, error });
        return;
      }
    crashPoint("project-before-forgotten");
    await store.transaction(async (transaction) => {
      if (await deleteCreating(transaction, project.id))
        await giveBackSlug(transaction, project.id, project.slug);
    });
  }

  async #insert(
    transaction: Transaction,
    asked: string | undefined,
    fresh: Omit<NewProject, "slug">,
  ): Promise<ProjectRow> {
    for (const slug of slugCandidates(fresh.name, asked, this.#parts.random)) {
      if (!(await takeSlug(transaction, { ...fresh, slug }))) continue;
      try {
        return await insertProject(transaction, { ...fresh, slug });
      } catch (error) {
        if (isUniqueViolation(error, projectSlugIndex)) throw slugTaken(slug);
        throw error;
      }
    }
    throw slugTaken(asked ?? fresh.name);
  }

  async #build(
    project: ProjectRow,
    computer: Computer,
    template: Template,
    principal: Principal,
    touched: { cell: boolean },
    signal: AbortSignal,
  ): Promise<string> {
    const { git, crashPoint } = this.#parts;
    const folder = folderOf(project);
    const beside = besideOf(project);
    await withAgent(this.#parts, computer, signal, async (agent) => {
      await refuseExisting(agent, folder, signal);
      crashPoint("project-before-files");
      touched.cell = true;
      const mark = {
        path: `.git/${markOf(project)}`,
        content: Buffer.from(`${project.id}\n`),
        executable: false,
      };
      await agent.upload(
        "tar.import",
        { path: beside, limit_bytes: limits.uploadBytes, limit_entries: limits.archiveEntries },
        tarOf([mark, ...template.files]),
        { signal, waitMs: limits.projectFilesMs },
      );
    });
    crashPoint("project-after-files");
    const repository = new Repository(git, { computer, folder: beside, signal });
    await repository.init();
    const commit = await repository.commitAll(firstMessage(project), principal, { allowEmpty: true });
    crashPoint("project-before-moved");
    await withAgent(this.#parts, computer, signal, (agent) =>
      agent.plain(
        "files.move",
        { from: beside, to: folder, overwrite: false },
        { signal, waitMs: limits.projectFilesMs },
      ),
    );
    crashPoint("project-after-moved");
    return commit;
  }

  /** Removes what the creation made: beside, and in its place if it carries its mark. A folder of the same name that was there before has none. */
  async #clear(project: ProjectRow, computer: Computer): Promise<void> {
    const agent = this.#parts.agents.of(computer.id);
    await deleteAll(agent, besideOf(project));
    const folder = folderOf(project);
    try {
      await agent.plain("files.stat", { path: `${folder}/.git/${markOf(project)}` });
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    await deleteAll(agent, folder);
  }
}

const besideOf = (project: ProjectRow): string => `/work/.holdfast-${project.id}`;
/** In the repository, where git takes no notice of it: says which creation made the folder. */
const markOf = (project: ProjectRow): string => `holdfast-${project.id}`;
const firstMessage = (project: ProjectRow): string => `Create ${project.name} from ${project.template}`;

/** They run in the project's folder. */
const schedulesIn = (project: ProjectRow, { schedules }: Template): readonly StarterSchedule[] =>
  schedules.map((schedule) => ({
    ...schedule,
    name: scheduleName(project, schedule.name),
    cwd: folderOf(project),
  }));

const refuseExisting = async (agent: Agent, folder: string, signal: AbortSignal): Promise<void> => {
  try {
    await agent.plain("files.stat", { path: folder }, { signal });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  throw new HoldfastError(
    "file_exists",
    `${folder} exists on the computer: move it away or take another name; to keep its files, import them into the new project`,
    { path: folder },
  );
};

/** While another creation of the name is under way, or is being taken back, nobody knows yet whether the name is taken. */
const nameTaken = (computer: Computer, named: ProjectRow): HoldfastError =>
  named.state === "creating"
    ? new HoldfastError("operation_running", `${named.name} is being created on ${computer.name}`, {
        retry_after_ms: 1000,
      })
    : new HoldfastError("name_taken", `${computer.name} has a project ${named.name} already`, {
        name: named.name,
      });

const slugTaken = (slug: string): HoldfastError =>
  new HoldfastError("name_taken", `the slug ${slug} is taken: an address keeps its meaning for ever`, {
    slug,
  });
