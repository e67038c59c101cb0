import type { OperationName } from "@holdfast/contract";
import type { NewToken } from "../authority/tokens.ts";
import type { Handler, Handlers, OperationContext } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import { isActive } from "../store/runs.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import {
  type AdmittedRun,
  type AdmittedSchedule,
  type Clockwork,
  type Runner,
  type Runs,
  runView,
  type Schedules,
} from "../schedules/index.ts";
import { writtenAtAdmission } from "./reconcilers.ts";

type Names = Extract<OperationName, `schedule.${string}` | `run.${string}`>;

export interface ScheduleHandlerParts {
  readonly db: Database;
  readonly schedules: Schedules;
  readonly runs: Runs;
  readonly runner: Pick<Runner, "look">;
  readonly clockwork: Pick<Clockwork, "look">;
  readonly newToken: NewToken;
  readonly fire: (
    transaction: Transaction,
    context: OperationContext,
    params: Parameters<Handler<"schedule.fire">["run"]>[1],
  ) => Promise<AdmittedRun>;
}

/** What is asked of schedules is written down at admission; the clockwork and the runner are told once that is committed. */
export const scheduleHandlers = (parts: ScheduleHandlerParts): Handlers<Names> => {
  const { db, schedules, runs, runner, clockwork } = parts;
  const create: Handler<"schedule.create", AdmittedSchedule & { readonly key: string }> = {
    sealsOutput: true,
    admit: async (transaction, { principal }, params) => {
      const { token } = parts.newToken("hfe_");
      return { ...(await schedules.create(transaction, principal, params, token)), key: token };
    },
    run: async (_context, _params, { row, key }) => {
      clockwork.look();
      return { output: { ...(await schedules.view(row)), event_key: row.event ? key : null } };
    },
  };
  const turned = (
    to: "paused" | "resumed",
  ): Handler<"schedule.pause" | "schedule.resume", AdmittedSchedule> => ({
    admit: (transaction, { principal }, params) => schedules.turn(transaction, principal, params, to),
    run: async (_context, _params, { row }) => {
      clockwork.look();
      return { output: await schedules.view(row) };
    },
  });
  const update: Handler<"schedule.update", AdmittedSchedule> = {
    admit: (transaction, { principal }, params) => schedules.update(transaction, principal, params),
    run: async (_context, _params, { row }) => {
      clockwork.look();
      return { output: await schedules.view(row) };
    },
  };
  const remove: Handler<"schedule.delete", AdmittedSchedule> = {
    admit: (transaction, { principal }, params) => schedules.delete(transaction, principal, params),
    run: async (_context, _params, { row }) => {
      runner.look();
      return { output: await schedules.view(row) };
    },
  };
  const byHand: Handler<"schedule.run", AdmittedRun> = {
    admit: (transaction, { principal }, params) => runs.byHand(transaction, principal, params),
    run: async ({ signal }, params, admitted) => {
      runs.begin(admitted);
      return { output: await runs.ended(admitted.target, params.wait_ms, signal) };
    },
    replay: async ({ signal }, params, target) => ({
      output: await runs.ended(target, params.wait_ms, signal),
      target,
    }),
  };
  const fire: Handler<"schedule.fire", AdmittedRun> = {
    caller: ({ schedule }) => schedule,
    admit: parts.fire,
    run: (_context, _params, admitted) => {
      runs.begin(admitted);
      return Promise.resolve({ output: { run: admitted.run.id, state: admitted.run.state } });
    },
  };
  const cancel: Handler<"run.cancel", AdmittedRun> = {
    admit: (transaction, { principal }, params) => runs.cancel(transaction, principal, params),
    run: async ({ signal }, _params, admitted) => ({
      output: isActive(admitted.run) ? await runs.finishCancel(admitted, signal) : runView(admitted.run),
    }),
  };
  return {
    "schedule.create": create,
    "schedule.update": update,
    "schedule.pause": turned("paused"),
    "schedule.resume": turned("resumed"),
    "schedule.delete": remove,
    "schedule.run": byHand,
    "schedule.fire": fire,
    "schedule.list": { run: ({ principal }, params) => schedules.list(principal, params) },
    "schedule.get": {
      run: async ({ principal }, params) => {
        const row = await schedules.find(db, principal, params);
        return { target: row.id, output: await schedules.view(row) };
      },
    },
    "schedule.preview": {
      run: async ({ principal }, params) => ({ output: await schedules.preview(principal, params) }),
    },
    "run.list": { run: ({ principal }, params) => runs.list(principal, params) },
    "run.get": {
      run: async ({ principal, signal }, params) => ({
        target: params.run,
        output: await runs.get(principal, params, signal),
      }),
    },
    "run.output": {
      run: async ({ principal, signal }, params) => ({
        target: params.run,
        output: await runs.output(principal, params, signal),
      }),
    },
    "run.cancel": cancel,
  };
};

export const scheduleReconcilers: readonly OperationReconciler[] = [
  writtenAtAdmission(
    "schedule.create",
    "schedule.update",
    "schedule.pause",
    "schedule.resume",
    "schedule.delete",
    "schedule.run",
    "schedule.fire",
    "run.cancel",
  ),
];
