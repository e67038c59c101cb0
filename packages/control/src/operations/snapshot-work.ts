import { HoldfastError, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import type { NewToken } from "../authority/tokens.ts";
import type { Lifecycle, Reconciler } from "../computers/index.ts";
import type { Agents } from "../domain/agents.ts";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Module } from "../domain/module.ts";
import type { ScheduleDefinitions } from "../domain/schedules.ts";
import type { Forks, Origins, Restorer } from "../domain/snapshots.ts";
import type { Trees } from "../domain/trees.ts";
import { secretBytes } from "../lib/random.ts";
import type { Projects, Turns } from "../projects/index.ts";
import {
  Children,
  Comparing,
  Forking,
  Imports,
  Restores,
  Retention,
  SnapshotCaretaker,
  Snapshots,
} from "../snapshots/index.ts";
import { Accepting, Offers, Reviewing } from "../snapshots/offers/index.ts";
import type { Store } from "../store/transaction.ts";
import { forkHandlers, forkReconcilers } from "./forks.ts";
import { offerHandlers, offerReconciler } from "./offers.ts";
import { writtenAtAdmission } from "./reconcilers.ts";
import { snapshotHandlers, snapshotReconcilers } from "./snapshots.ts";

export interface SnapshotWorkParts {
  readonly store: Store;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly agents: Agents;
  readonly computers: Computers;
  readonly reconciler: Pick<Reconciler, "nudge" | "settle">;
  readonly lifecycle: Lifecycle;
  readonly schedules: ScheduleDefinitions;
  readonly projects: Projects;
  readonly turns: Turns;
  readonly trees: Trees;
  readonly ceilings: CeilingCheck;
  readonly events: EventLog;
  readonly newToken: NewToken;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  readonly running: ReadonlySet<string>;
}

export interface SnapshotWork extends Required<Pick<Module, "reconcilers" | "stop">> {
  readonly handlers: Module["handlers"];
  readonly forks: Forks;
  readonly origins: Origins;
  readonly restorer: Restorer;
  start(): void;
}

/** Everything that is made of frozen disks: snapshots, computers from them, children and what they offer. */
export const createSnapshotWork = (parts: SnapshotWorkParts): SnapshotWork => {
  const stopping = new AbortController();
  const snapshots = new Snapshots(parts);
  const made = { ...parts, snapshots, random: secretBytes };
  const forking = new Forking(made);
  const restores = new Restores(made);
  const retention = new Retention(made);
  const offers = new Offers(made);
  const accepting = new Accepting({ ...made, offers });
  const caretaker = new SnapshotCaretaker({ ...made, forks: forking, offers: accepting });
  return {
    forks: forking,
    origins: forking,
    restorer: restores,
    handlers: {
      ...snapshotHandlers({
        ...made,
        db: parts.store.db,
        restores,
        comparing: new Comparing(made),
        imports: new Imports({ ...made, forking }),
        stopping: stopping.signal,
      }),
      ...forkHandlers({ ...made, forking, children: new Children({ ...made, forking }) }),
      ...offerHandlers({
        offers,
        accepting,
        reviewing: new Reviewing({ ...made, offers }),
        stopping: stopping.signal,
      }),
    },
    reconcilers: [
      ...snapshotReconcilers,
      ...forkReconcilers,
      offerReconciler,
      writtenAtAdmission("snapshot.delete", "offer.reject"),
    ],
    start: () => {
      caretaker.start();
      retention.start();
    },
    stop: async () => {
      stopping.abort(new HoldfastError("unavailable", "control is shutting down"));
      accepting.stop();
      await retention.stop();
      await caretaker.stop();
    },
  };
};
