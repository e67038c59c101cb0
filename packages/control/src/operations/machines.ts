import { agentSocketPath, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import { SocketAgents } from "../agents/index.ts";
import { Lifecycle, LivingComputers, Moves, Reconciler, Watch } from "../computers/index.ts";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Module } from "../domain/module.ts";
import { createProcessorLoad } from "../lib/processor.ts";
import type { Store } from "../store/transaction.ts";
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
import { fileHandlers } from "./files.ts";
import { processHandlers, processReconciler } from "./processes.ts";
import { createProjectWork, type ProjectWork } from "./project-work.ts";
import { serviceHandlers, serviceReconciler } from "./services.ts";

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
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  /** Blank cells that are kept started. Absent: none. */
  readonly warm?: number;
}

/** What serving visitors needs of it. */
export interface Machines extends Module {
  readonly computers: Computers;
  readonly services: Services;
  readonly viewOf: ProjectWork["viewOf"];
}

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
  const reconciler = new Reconciler({ ...parts, moves: new Moves({ ...parts, observer }) });
  const computers = new LivingComputers({ ...parts, db, reconciler });
  const watch = new Watch({ ...parts, db, nodeId, reconciler });
  const warm = new WarmPool({
    ...parts,
    wanted: wantedOf(parts.warm ?? 0),
    load: createProcessorLoad(),
  });
  const workWatch = new WorkWatch({ ...parts, db, nodeId, processes: keeper, services: serviceKeeper });
  const cell = { agents, computers };
  const files = new Files(cell);
  const services = new Services({ ...parts, ...cell, db, keeper: serviceKeeper });
  const projects = createProjectWork({ ...parts, ...cell, files, keeper: serviceKeeper });
  return {
    computers,
    services,
    viewOf: projects.viewOf,
    handlers: {
      ...computerHandlers({ ...parts, ...cell, db, lifecycle: new Lifecycle({ ...parts, db, reconciler, warm }) }),
      ...processHandlers({
        db,
        computers,
        launcher: new Launcher({ ...parts, ...cell, keeper }),
        processes: new Processes({ ...cell, db, keeper }),
      }),
      ...serviceHandlers({ db, computers, services }),
      ...fileHandlers({ computers, files }),
      ...projects.handlers,
    },
    reconcilers: [
      computerReconciler(db),
      processReconciler(keeper),
      serviceReconciler,
      ...projects.reconcilers,
    ],
    start: () => {
      watch.start();
      warm.start();
      workWatch.start();
      projects.start();
      return Promise.resolve();
    },
    notReady: () => watch.notReady(),
    stop: async () => {
      await projects.stop();
      await workWatch.stop();
      await warm.stop();
      await watch.stop();
      await reconciler.stop();
    },
  };
};
