import { HoldfastError, type OperationName } from "@holdfast/contract";
import type { Computer, Computers } from "../domain/computer.ts";
import type { Handler, Handlers, OperationContext } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import { getComputer } from "../store/computers.ts";
import { forgetUnstarted, getProcessById, type ProcessRow } from "../store/processes.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import {
  type AdmittedProcess,
  type Launcher,
  neverHadCell,
  type ProcessKeeper,
  type Processes,
  processView,
} from "../work/index.ts";

type Names = Extract<OperationName, `process.${string}`>;

export interface ProcessHandlerParts {
  readonly db: Database;
  readonly launcher: Launcher;
  readonly processes: Processes;
  readonly computers: Computers;
}

export const processHandlers = (parts: ProcessHandlerParts): Handlers<Names> => {
  const { db, launcher, processes, computers } = parts;
  const exec: Handler<"process.exec", AdmittedProcess> = {
    admit: (transaction, context, params) => launcher.admit(transaction, context, params),
    run: (context, params, admitted) => launcher.exec(context, params, admitted),
    replay: async (context, params, target) => {
      const admitted = await admittedOf(db, target);
      return { output: await launcher.again(context, params, admitted) };
    },
  };
  const start: Handler<"process.start", AdmittedProcess> = {
    admit: (transaction, context, params) => launcher.admit(transaction, context, params),
    run: (context, params, admitted) => launcher.start(context, params, admitted),
    replay: async (context, _params, target) => {
      const { computer } = await admittedOf(db, target);
      return { output: await processes.get(computer, { process: target, wait_ms: 0 }, context.signal) };
    },
  };
  /** Changes of what runs are recorded under the process, looking at it too. */
  const find = ({ principal }: OperationContext, ref: string): Promise<Computer> =>
    computers.find(principal, ref);
  return {
    "process.exec": exec,
    "process.start": start,
    "process.list": {
      run: async (context, params) => {
        const computer = await find(context, params.computer);
        return { target: computer.id, output: await processes.list(computer, params) };
      },
    },
    "process.get": {
      run: async (context, params) => ({
        target: params.process,
        output: await processes.get(await find(context, params.computer), params, context.signal),
      }),
    },
    "process.output": {
      run: async (context, params) => ({
        target: params.process,
        output: await processes.output(await find(context, params.computer), params, context.signal),
      }),
    },
    "process.follow": {
      run: async (context, params) =>
        processes.follow(await find(context, params.computer), params, context.lastEventId, context.signal),
    },
    "process.input": {
      run: async (context, params) => ({
        target: params.process,
        output: await processes.input(await find(context, params.computer), params, context.signal),
      }),
    },
    "process.signal": {
      run: async (context, params) => ({
        target: params.process,
        output: await processes.signal(await find(context, params.computer), params, context.signal),
      }),
    },
    "process.resize": {
      run: async (context, params) => ({
        target: params.process,
        output: await processes.resize(await find(context, params.computer), params, context.signal),
      }),
    },
    "process.attach": {
      run: async (context, params) =>
        processes.attach(await find(context, params.computer), params, context.signal),
    },
  };
};

/** The process that the first request with this key was admitted for. */
const admittedOf = async (db: Database | Transaction, id: string): Promise<AdmittedProcess> => {
  const row = await getProcessById(db, id);
  const computer = row && (await getComputer(db, row.computer_id));
  if (!row || !computer)
    throw new HoldfastError("not_found", `process ${id} is not remembered any more`, { process: id });
  return { target: id, computer, row };
};

/**
 * The process was written down at admission. While it is `starting` its computer has not been asked yet whether it runs; what surely never
 * ran is taken back, and the same request runs it.
 */
export const processReconciler = (keeper: ProcessKeeper): OperationReconciler => ({
  operations: ["process.exec", "process.start"],
  reconcile: async (transaction, unsettled) => {
    const row: ProcessRow | undefined =
      unsettled.target === null ? undefined : await getProcessById(transaction, unsettled.target);
    if (!row) return { outcome: "failed", error: "unavailable" };
    if (row.state !== "ended") {
      const computer = await getComputer(transaction, row.computer_id);
      if (computer?.cellId === null && row.cell_id !== null) {
        await keeper.lost(transaction, computer, row);
        const ended = await getProcessById(transaction, row.id);
        return { outcome: "succeeded", output: { process: processView(ended ?? row) } };
      }
      if (row.state !== "starting") return { outcome: "succeeded", output: { process: processView(row) } };
      if (computer && neverHadCell(computer, row) && (await forgetUnstarted(transaction, row.id)))
        return { outcome: "failed", error: "unavailable" };
      throw new HoldfastError("unavailable", "it is not known yet whether the process runs", {
        process: row.id,
      });
    }
    return { outcome: "succeeded", output: { process: processView(row) } };
  },
});
