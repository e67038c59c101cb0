import type { OperationName } from "@holdfast/contract";
import { findComputer } from "../computers/index.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import type { Handler, Handlers, OperationContext } from "../domain/handler.ts";
import { getComputer } from "../store/computers.ts";
import { getServiceById } from "../store/services.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { type AdmittedService, refuseFailed, type Services } from "../work/index.ts";
import { writtenAtAdmission } from "./reconcilers.ts";

type Names = Extract<OperationName, `service.${string}`>;

export interface ServiceHandlerParts {
  readonly db: Database;
  readonly services: Services;
  readonly computers: Computers;
}

export const serviceHandlers = ({ db, services, computers }: ServiceHandlerParts): Handlers<Names> => {
  const find = ({ principal }: OperationContext, ref: string): Promise<Computer> =>
    computers.find(principal, ref);
  const locked = (
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
  ): Promise<Computer> => findComputer(transaction, principal, ref, { lock: true });

  const create: Handler<"service.create", AdmittedService> = {
    admit: async (transaction, context, params) =>
      services.create(transaction, refuseFailed(await locked(transaction, context, params.computer)), params),
    run: async (context, params, admitted) => ({
      output: await services.carryOut(
        admitted,
        { wake: true, until: "ready", restart: false, waitMs: params.wait_ms },
        context.signal,
      ),
    }),
    replay: async (context, _params, target) => {
      const row = await getServiceById(db, target);
      const computer = row && (await getComputer(db, row.computer_id));
      return { output: await services.again(computer, row, target, context.signal) };
    },
  };
  const update: Handler<"service.update", AdmittedService> = {
    admit: async (transaction, context, params) =>
      services.update(transaction, await locked(transaction, context, params.computer), params),
    run: async (context, params, admitted) => ({
      output: await services.carryOut(
        admitted,
        {
          wake: false,
          until: admitted.row.desired_state === "running" ? "ready" : "stopped",
          restart: false,
          waitMs: params.wait_ms,
        },
        context.signal,
      ),
    }),
  };
  const wanted = (
    desired: "running" | "stopped",
    restart: boolean,
  ): Handler<"service.start" | "service.stop" | "service.restart", AdmittedService> => ({
    admit: async (transaction, context, params) => {
      const computer = await locked(transaction, context, params.computer);
      if (desired === "running") refuseFailed(computer);
      return services.want(transaction, computer, params.service, desired);
    },
    run: async (context, params, admitted) => ({
      output: await services.carryOut(
        admitted,
        {
          wake: desired === "running",
          until: desired === "running" ? "ready" : "stopped",
          restart,
          waitMs: params.wait_ms,
        },
        context.signal,
      ),
    }),
  });
  const remove: Handler<"service.delete", AdmittedService> = {
    admit: async (transaction, context, params) =>
      services.delete(transaction, await locked(transaction, context, params.computer), params.service),
    run: async (_context, _params, admitted) => ({ output: await services.removed(admitted) }),
  };
  return {
    "service.create": create,
    "service.update": update,
    "service.start": wanted("running", false),
    "service.stop": wanted("stopped", false),
    "service.restart": wanted("running", true),
    "service.delete": remove,
    "service.list": {
      run: async (context, params) => {
        const computer = await find(context, params.computer);
        return { target: computer.id, output: await services.list(computer, params, context.signal) };
      },
    },
    "service.get": {
      run: async (context, params) => {
        const output = await services.get(
          await find(context, params.computer),
          params.service,
          context.signal,
        );
        return { target: output.id, output };
      },
    },
    "service.logs": {
      run: async (context, params) => {
        const computer = await find(context, params.computer);
        return { target: computer.id, output: await services.logs(computer, params, context.signal) };
      },
    },
  };
};

/** Definitions are written at admission; the set is sent again whenever the agent's is older. */
export const serviceReconciler = writtenAtAdmission(
  "service.create",
  "service.update",
  "service.start",
  "service.stop",
  "service.restart",
  "service.delete",
);
