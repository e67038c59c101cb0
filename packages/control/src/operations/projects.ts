import type { OperationName } from "@holdfast/contract";
import type { Handler, Handlers, OperationContext } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import {
  type AdmittedProject,
  type Creation,
  deploymentView,
  findProject,
  type FoundProject,
  type History,
  type Projects,
  projectView,
  type ProjectViews,
  type Transfer,
} from "../projects/index.ts";
import { deploymentOfOperation } from "../store/deployments.ts";
import { getProject, type ProjectRow } from "../store/projects.ts";
import { summariesOfProjects } from "../store/run-history.ts";
import { listServicesOfProjects } from "../store/services.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { bodyOf } from "./body.ts";

/** Who visits projects is in `visits.ts`. */
export type Names = Exclude<
  Extract<OperationName, `project.${string}`>,
  "project.publish" | "project.unpublish" | "project.open" | "project.access"
>;

export interface ProjectHandlerParts {
  readonly db: Database;
  readonly creation: Creation;
  readonly projects: Projects;
  readonly views: ProjectViews;
  readonly history: History;
  readonly transfer: Transfer;
  /** Control ends: what a creation or a deploy has begun goes on until then, also when its caller has gone away. */
  readonly stopping: AbortSignal;
}

export const projectHandlers = (parts: ProjectHandlerParts): Handlers<Names> => {
  const { db, creation, projects, views, history, transfer, stopping } = parts;
  const find = ({ principal }: OperationContext, { project }: { readonly project: string }) =>
    projects.find(db, principal, project);
  const admit = (
    transaction: Transaction,
    context: OperationContext,
    { project }: { readonly project: string },
  ): Promise<FoundProject> => projects.findToRun(transaction, context, project);

  const create: Handler<"project.create", AdmittedProject> = {
    goesOn: true,
    admit: (transaction, context, params) => creation.admit(transaction, context, params),
    run: async (context, params, admitted) => {
      const deployed = await creation.make(context, admitted, stopping);
      return { output: (await projects.startAndShow(context, deployed, params.wait_ms)).project };
    },
    replay: async (context, _params, target) => ({ output: await views.ofId(target, context.signal) }),
  };
  const deploy: Handler<"project.deploy", FoundProject> = {
    goesOn: true,
    admit,
    run: async (context, params, found) => ({
      output: await projects.deploy(context, found, params, stopping),
    }),
  };
  const restore: Handler<"project.restore", FoundProject> = {
    goesOn: true,
    admit,
    run: async (context, params, found) => ({
      output: await projects.restore(context, found, params, stopping),
    }),
  };
  const update: Handler<"project.update", { target: string; project: ProjectRow }> = {
    admit: (transaction, context, params) => projects.update(transaction, context, params),
    run: async (context, _params, { project }) => ({ output: await views.of(project, context.signal) }),
  };
  const destroy: Handler<"project.destroy", FoundProject> = {
    admit: (transaction, context, params) => projects.destroy(transaction, context, params.project),
    run: async (context, params, found) => ({
      output: await projects.finishDestroy(found, params.delete_files, context.signal),
    }),
  };
  const bring: Handler<"project.import", FoundProject> = {
    admit,
    run: async (context, params, found) => ({
      output: await transfer.import(context, found, params, bodyOf(context), stopping),
    }),
  };
  return {
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
        const project = await findProject(db, principal, ref, { destroyed: true });
        return { target: project.id, output: await views.of(project, signal) };
      },
    },
    "project.history": {
      run: async (context, params) => {
        const found = await find(context, params);
        return { target: found.target, output: await history.list(context, found, params) };
      },
    },
    "project.diff": {
      run: async (context, params) => {
        const found = await find(context, params);
        return { target: found.target, output: await history.diff(context, found, params) };
      },
    },
    "project.export": {
      run: async (context, params) => transfer.export(context, await find(context, params), params),
    },
  };
};

/** Written down as deployed, or nothing but a commit: that is made again, or found made, by the same request. */
export const deployReconciler = (projectsAddress: URL): OperationReconciler => ({
  operations: ["project.deploy", "project.restore"],
  reconcile: async (transaction, { operationId }) => {
    const deployment = await deploymentOfOperation(transaction, operationId);
    const row = deployment && (await getProject(transaction, deployment.project_id));
    if (!deployment || !row) return { outcome: "failed", error: "unavailable" };
    const services = await listServicesOfProjects(transaction, [row.id]);
    const schedules = await summariesOfProjects(transaction, [row.id]);
    const project = projectView(row, { services, states: [], deployment, schedules }, projectsAddress);
    return { outcome: "succeeded", output: { project, deployment: deploymentView(deployment) } };
  },
});
