import { HoldfastError } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import { createStrangers } from "../authority/strangers.ts";
import type { NewToken } from "../authority/tokens.ts";
import type { Agents } from "../domain/agents.ts";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Module } from "../domain/module.ts";
import type { ProjectSchedules, ScheduleDefinitions } from "../domain/schedules.ts";
import type { Forks } from "../domain/snapshots.ts";
import { Clockwork, createDefinitions, fire, Runner, Runs, Schedules, Timings } from "../schedules/index.ts";
import type { Store } from "../store/transaction.ts";
import type { ProcessKeeper, Processes } from "../work/index.ts";
import { scheduleHandlers, scheduleReconcilers } from "./schedules.ts";

export interface ScheduleWorkParts {
  readonly store: Store;
  readonly agents: Agents;
  readonly computers: Computers;
  readonly keeper: ProcessKeeper;
  readonly processes: Processes;
  /** Made after this, for forks carry schedules: asked for when the first is needed. Absent: nothing runs in forks. */
  readonly forks?: () => Forks;
  readonly events: EventLog;
  readonly newToken: NewToken;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  /** Origin of the API. */
  readonly address: URL;
}

export interface ScheduleWork extends Required<Pick<Module, "reconcilers" | "clean" | "stop">> {
  readonly handlers: ReturnType<typeof scheduleHandlers>;
  readonly definitions: ScheduleDefinitions & ProjectSchedules;
  start(): void;
}

/** Everything that schedules are and do. */
export const createScheduleWork = (parts: ScheduleWorkParts): ScheduleWork => {
  const { db } = parts.store;
  const timings = new Timings();
  const schedules = new Schedules({ ...parts, db, timings });
  const made = (): Forks => {
    if (parts.forks) return parts.forks();
    throw new HoldfastError("wrong_state", "this control makes no forks");
  };
  const forks: Forks = {
    fork: (transaction, wanted) => made().fork(transaction, wanted),
    discard: (computerId) => made().discard(computerId),
  };
  const runner = new Runner({ ...parts, forks });
  const clockwork = new Clockwork({ ...parts, timings, take: (claimed) => runner.takeClaimed(claimed) });
  const runs = new Runs({ ...parts, db, schedules, runner });
  const strangers = createStrangers(parts.clock, { what: "keys of schedules came from this network" });
  const definitions = createDefinitions({
    ...parts,
    schedules,
    timings,
    unknownKey: () => parts.newToken("hfe_").token,
    changed: () => {
      clockwork.lookSoon();
      runner.look();
    },
  });
  return {
    handlers: scheduleHandlers({
      ...parts,
      db,
      schedules,
      runs,
      runner,
      clockwork,
      fire: (transaction, context, params) => fire({ runs, strangers }, transaction, context, params),
    }),
    reconcilers: scheduleReconcilers,
    definitions,
    clean: () => runner.clean(),
    start: () => {
      runner.start();
      clockwork.start();
    },
    stop: async () => {
      await clockwork.stop();
      await runner.stop();
    },
  };
};
