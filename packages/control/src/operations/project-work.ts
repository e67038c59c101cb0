import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import type { ProjectSchedules } from "../domain/schedules.ts";
import { secretBytes } from "../lib/random.ts";
import {
  Caretaker,
  createGit,
  Creation,
  creationReconciler,
  Deployer,
  History,
  Projects,
  type ProjectView,
  ProjectViews,
  Transfer,
  Turns,
} from "../projects/index.ts";
import type { Store } from "../store/transaction.ts";
import type { Files, ServiceKeeper } from "../work/index.ts";
import { deployReconciler, type Names, projectHandlers } from "./projects.ts";
import { writtenAtAdmission } from "./reconcilers.ts";

export interface ProjectWorkParts {
  readonly store: Store;
  readonly agents: Agents;
  readonly computers: Computers;
  readonly keeper: ServiceKeeper;
  readonly schedules: ProjectSchedules;
  readonly files: Files;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  readonly running: ReadonlySet<string>;
  readonly projectsAddress: URL;
}

export interface ProjectWork {
  readonly handlers: Handlers<Names>;
  readonly reconcilers: readonly OperationReconciler[];
  readonly projects: Projects;
  /** What changes one repository goes one after the other. */
  readonly turns: Turns;
  /** A project as operations answer it. Throws `not_found`. */
  viewOf(projectId: string, signal: AbortSignal): Promise<ProjectView>;
  start(): void;
  stop(): Promise<void>;
}

/** Everything that projects are, but who visits them. */
export const createProjectWork = (parts: ProjectWorkParts): ProjectWork => {
  const { db } = parts.store;
  const stopping = new AbortController();
  const git = createGit(parts);
  const turns = new Turns(parts.clock, limits.waitMs);
  const views = new ProjectViews({ ...parts, db });
  const deployer = new Deployer(parts);
  const creation = new Creation({ ...parts, deployer, git, random: secretBytes });
  const projects = new Projects({ ...parts, db, deployer, views, git, turns });
  const history = new History({ ...parts, db, projects });
  const transfer = new Transfer({ ...parts, projects, views, turns });
  const caretaker = new Caretaker({ ...parts, creation });
  return {
    projects,
    turns,
    handlers: projectHandlers({
      db,
      creation,
      projects,
      views,
      history,
      transfer,
      stopping: stopping.signal,
    }),
    reconcilers: [
      creationReconciler,
      deployReconciler(parts.projectsAddress),
      writtenAtAdmission("project.update", "project.destroy"),
    ],
    viewOf: (id, signal) => views.ofId(id, signal),
    start: () => caretaker.start(),
    stop: async () => {
      stopping.abort(new HoldfastError("unavailable", "control is shutting down"));
      await caretaker.stop();
    },
  };
};
