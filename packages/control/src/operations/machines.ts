import { agentSocketPath, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import { SocketAgents } from "../agents/index.ts";
import {
  ComputerActivity,
  Lifecycle,
  LivingComputers,
  Moves,
  Reconciler,
  Sleeper,
  Watch,
} from "../computers/index.ts";
import type { NewToken } from "../authority/tokens.ts";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computers, RestingWatch } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Module } from "../domain/module.ts";
import type { Relief } from "../domain/memory.ts";
import { createProcessorLoad } from "../lib/processor.ts";
import { candidatesOf, MemoryPressure } from "../memory/index.ts";
import { deleteOldHolds } from "../store/holds.ts";
import type { Store } from "../store/transaction.ts";
import { createThrowawayTrees } from "../throwaway/index.ts";
import { wantedOf, WarmPool } from "../warm/index.ts";
import {
  Files,
  Launcher,
  Processes,
  ProcessKeeper,
  ServiceKeeper,
  Services,
  WorkObserver,
  WorkWatch,
} from "../work/index.ts";
import { computerHandlers, computerReconciler } from "./computers.ts";
import { holdHandlers, holdReconciler } from "./holds.ts";
import { fileHandlers } from "./files.ts";
import { processHandlers, processReconciler } from "./processes.ts";
import { createProjectWork, type ProjectWork } from "./project-work.ts";
import { createScheduleWork } from "./schedule-work.ts";
import { serviceHandlers, serviceReconciler } from "./services.ts";
import { createSnapshotWork } from "./snapshot-work.ts";

export interface MachinesParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly events: EventLog;
  readonly ceilings: CeilingCheck;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly instance: string;
  readonly nodeId: string;
  readonly running: ReadonlySet<string>;
  readonly newToken: NewToken;
  /** Origin of the API. */
  readonly address: URL;
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  /** Blank cells that are kept started. Absent: none. */
  readonly warm?: number;
}

/** What serving visitors needs of it. */
export interface Machines extends Module {
  readonly computers: Computers;
  readonly resting: RestingWatch;
  readonly services: Services;
  readonly viewOf: ProjectWork["viewOf"];
}

/** Longer than any idle time is looked at from the end of a hold: that of a control that was away counts anew. */
const holdsKeptMs = 24 * 3600 * 1000;

/** Everything that is about computers, what runs on them and the projects there. */
export const createMachinesModule = (parts: MachinesParts): Machines => {
  const { store, nodeId } = parts;
  const { db } = store;
  const agents = new SocketAgents({
    socketPath: (id) => agentSocketPath(parts.instance, id),
    clock: parts.clock,
  });
  const keeper = new ProcessKeeper({ ...parts, agents });
  const serviceKeeper = new ServiceKeeper({ ...parts, agents });
  const observer = new WorkObserver({ ...parts, agents, processes: keeper, services: serviceKeeper });
  const activity = new ComputerActivity(parts.clock);
  const throwaway = createThrowawayTrees({ ...parts, db, agents });
  const moves = new Moves({
    ...parts,
    trees: throwaway.trees,
    observer,
    agents,
    activity,
    // Filled in below: snapshots are made of what moves computers.
    origins: { ready: (computer) => snapshots.origins.ready(computer) },
    restorer: { restored: (transaction, computer) => snapshots.restorer.restored(transaction, computer) },
  });
  // Filled in below: what makes room moves computers itself.
  const relief: Relief = { ask: (id, refusal) => pressure.ask(id, refusal) };
  const reconciler = new Reconciler({ ...parts, moves, activity, relief });
  const computers = new LivingComputers({ ...parts, db, reconciler, activity });
  const sleeper = new Sleeper({ ...parts, reconciler, activity });
  const watch = new Watch({ ...parts, db, nodeId, reconciler, activity });
  const warm = new WarmPool({
    ...parts,
    wanted: wantedOf(parts.warm ?? 0),
    load: createProcessorLoad(),
  });
  const pressure = new MemoryPressure({
    ...parts,
    candidates: candidatesOf(db, nodeId, parts.clock),
    resting: sleeper,
    activity,
    warm,
    reconciler,
  });
  const workWatch = new WorkWatch({ ...parts, db, nodeId, processes: keeper, services: serviceKeeper });
  const cell = { agents, computers };
  const files = new Files(cell);
  const services = new Services({ ...parts, ...cell, db, keeper: serviceKeeper });
  const processes = new Processes({ ...cell, db, keeper });
  const schedules = createScheduleWork({
    ...parts,
    ...cell,
    keeper,
    processes,
    forks: () => snapshots.forks,
  });
  const projects = createProjectWork({
    ...parts,
    ...cell,
    files,
    keeper: serviceKeeper,
    schedules: schedules.definitions,
  });
  const lifecycle = new Lifecycle({ ...parts, db, reconciler, activity, warm });
  const snapshots = createSnapshotWork({
    ...parts,
    ...cell,
    reconciler,
    lifecycle,
    schedules: schedules.definitions,
    projects: projects.projects,
    turns: projects.turns,
    trees: throwaway.trees,
  });
  return {
    computers,
    resting: activity.resting,
    services,
    viewOf: projects.viewOf,
    handlers: {
      ...computerHandlers({ ...parts, ...cell, db, lifecycle }),
      ...holdHandlers({ ...parts, db, computers }),
      ...processHandlers({
        db,
        computers,
        launcher: new Launcher({ ...parts, ...cell, keeper }),
        processes,
      }),
      ...serviceHandlers({ db, computers, services }),
      ...fileHandlers({ computers, files }),
      ...projects.handlers,
      ...schedules.handlers,
      ...snapshots.handlers,
    },
    reconcilers: [
      computerReconciler(db),
      processReconciler(keeper),
      holdReconciler,
      serviceReconciler,
      ...projects.reconcilers,
      ...schedules.reconcilers,
      ...snapshots.reconcilers,
    ],
    start: () => {
      watch.start();
      sleeper.start();
      throwaway.start();
      warm.start();
      pressure.start();
      workWatch.start();
      projects.start();
      schedules.start();
      snapshots.start();
      return Promise.resolve();
    },
    notReady: () => watch.notReady(),
    clean: async () => {
      await deleteOldHolds(db, parts.clock.now() - holdsKeptMs);
      await schedules.clean();
    },
    stop: async () => {
      await snapshots.stop();
      await schedules.stop();
      await projects.stop();
      await workWatch.stop();
      await pressure.stop();
      await warm.stop();
      await throwaway.stop();
      await sleeper.stop();
      await watch.stop();
      await reconciler.stop();
    },
  };
};
