import { HoldfastError, limits, type OperationOutput } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Handler, Handlers, OperationContext } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import { noProject } from "../domain/project.ts";
import { secretBytes } from "../lib/random.ts";
import {
  type AdmittedProject,
  Caretaker,
  createGit,
  Creation,
  creationReconciler,
  Deployer,
  deploymentView,
  type FoundProject,
  History,
  Looking,
  Projects,
  projectView,
  Transfer,
  Turns,
} from "../projects/index.ts";
import { deploymentOfOperation } from "../store/deployments.ts";
import { findProject, getProject, type ProjectRow } from "../store/projects.ts";
import { listServicesOfProjects } from "../store/services.ts";
import type { Store } from "../store/transaction.ts";
import type { Files, ServiceKeeper } from "../work/index.ts";

type Names =
  | "project.create"
  | "project.list"
  | "project.get"
  | "project.update"
  | "project.destroy"
  | "project.deploy"
  | "project.history"
  | "project.diff"
  | "project.restore"
  | "project.export"
  | "project.import";

export interface ProjectPartsOfControl {
  readonly store: Store;
  readonly agents: Agents;
  readonly computers: Computers;
  readonly keeper: ServiceKeeper;
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
  /** A project as operations answer it. */
  viewOf(projectId: string, signal: AbortSignal): Promise<OperationOutput<"project.get">>;
  start(): void;
  stop(): Promise<void>;
}

/** Everything that projects are, but who visits them. */
export const createProjectWork = (parts: ProjectPartsOfControl): ProjectWork => {
  const { store } = parts;
  const { db } = store;
  const stopping = new AbortController();
  const git = createGit(parts);
  const turns = new Turns(parts.clock, limits.waitMs);
  const looking = new Looking({ ...parts, db });
  const deployer = new Deployer(parts);
  const creation = new Creation({ ...parts, deployer, git, random: secretBytes });
  const projects = new Projects({ ...parts, db, deployer, looking, git, turns });
  const history = new History({ ...parts, db, projects });
  const transfer = new Transfer({ ...parts, projects, looking, turns });
  const caretaker = new Caretaker({ ...parts, creation });

  // What a creation or a deploy has begun goes on when its caller goes away: a repeated request finds it done.
  const create: Handler<"project.create", AdmittedProject> = {
    goesOn: true,
    admit: (transaction, context, params) => creation.admit(transaction, context, params),
    run: async (context, params, admitted) => {
      const deployed = await creation.make(context, admitted, stopping.signal);
      return { output: (await projects.shown(context, deployed, params.wait_ms)).project };
    },
    replay: async (context, _params, target) => ({
      output: await viewOf(target, context.signal),
    }),
  };
  const deploy: Handler<"project.deploy", FoundProject> = {
    goesOn: true,
    admit: (transaction, context, params) => projects.findToRun(transaction, context, params.project),
    run: async (context, params, found) => ({
      output: await projects.deploy(context, found, params, stopping.signal),
    }),
  };
  const restore: Handler<"project.restore", FoundProject> = {
    goesOn: true,
    admit: (transaction, context, params) => projects.findToRun(transaction, context, params.project),
    run: async (context, params, found) => ({
      output: await projects.restore(context, found, params, stopping.signal),
    }),
  };
  const update: Handler<"project.update", { target: string; project: ProjectRow }> = {
    admit: (transaction, context, params) => projects.update(transaction, context, params),
    run: async (context, _params, { project }) => ({ output: await looking.at(project, context.signal) }),
  };
  const destroy: Handler<"project.destroy", FoundProject> = {
    admit: (transaction, context, params) => projects.destroy(transaction, context, params.project),
    run: async (context, params, found) => ({
      output: await projects.removed(found, params.delete_files, context.signal),
    }),
  };
  const bring: Handler<"project.import", FoundProject> = {
    admit: (transaction, context, params) => projects.findToRun(transaction, context, params.project),
    run: async (context, params, found) => ({
      output: await transfer.import(context, found, params, bodyOf(context), stopping.signal),
    }),
  };
  const viewOf = async (id: string, signal: AbortSignal): Promise<OperationOutput<"project.get">> => {
    const project = await getProject(db, id);
    if (!project) throw noProject(id);
    return looking.at(project, signal);
  };

  return {
    handlers: {
      "project.create": create,
      "project.deploy": deploy,
      "project.restore": restore,
      "project.update": update,
      "project.destroy": destroy,
      "project.import": bring,
      "project.list": {
        run: async (context, params) => ({ output: await projects.list(context, params) }),
      },
      "project.get": {
        run: async ({ principal, signal }, { project: ref }) => {
          const project = await findProject(db, { principal, ref, destroyed: true });
          if (!project) throw noProject(ref);
          return { target: project.id, output: await looking.at(project, signal) };
        },
      },
      "project.history": {
        run: async (context, params) => {
          const found = await projects.find(db, context.principal, params.project);
          return { target: found.target, output: await history.list(found, params, context.signal) };
        },
      },
      "project.diff": {
        run: async (context, params) => {
          const found = await projects.find(db, context.principal, params.project);
          return { target: found.target, output: await history.diff(found, params, context.signal) };
        },
      },
      "project.export": {
        run: async (context, params) =>
          transfer.export(context, await projects.find(db, context.principal, params.project), params),
      },
    },
    reconcilers: [creationReconciler, deployReconciler(parts), writtenReconciler],
    viewOf,
    start: () => caretaker.start(),
    stop: async () => {
      stopping.abort(new HoldfastError("unavailable", "control is shutting down"));
      await caretaker.stop();
    },
  };
};

/** Written down as deployed, or nothing but a commit: that is made again, or found made, by the same request. */
const deployReconciler = ({ projectsAddress }: ProjectPartsOfControl): OperationReconciler => ({
  operations: ["project.deploy", "project.restore"],
  reconcile: async (transaction, { operationId }) => {
    const deployment = await deploymentOfOperation(transaction, operationId);
    const row = deployment && (await getProject(transaction, deployment.project_id));
    if (!deployment || !row) return { outcome: "failed", error: "unavailable" };
    const services = await listServicesOfProjects(transaction, [row.id]);
    const project = projectView(row, { services, states: [], deployment }, projectsAddress);
    return { outcome: "succeeded", output: { project, deployment: deploymentView(deployment) } };
  },
});

/** What these change is written down at admission. */
const writtenReconciler: OperationReconciler = {
  operations: ["project.update", "project.destroy"],
  reconcile: (_transaction, { target }) =>
    Promise.resolve(target === null ? undefined : { outcome: "succeeded" }),
};

const bodyOf = (context: OperationContext): AsyncIterable<Uint8Array> => {
  if (context.body) return context.body;
  throw new HoldfastError("invalid_input", `${context.operation} takes a body of bytes`, {
    issues: [{ path: [], message: "a request body" }],
  });
};
