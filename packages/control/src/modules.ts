import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient } from "@holdfast/kit";
import { createPassphrases } from "./authority/passphrase.ts";
import type { NewToken } from "./authority/tokens.ts";
import type { CeilingCheck } from "./domain/ceilings.ts";
import type { EventLog } from "./domain/events.ts";
import type { Module } from "./domain/module.ts";
import type { EventFeed } from "./events/feed.ts";
import type { Listener } from "./store/listener.ts";
import { createMachinesModule } from "./operations/machines.ts";
import { createPrincipalsModule } from "./operations/principals.ts";
import { recordHandlers } from "./operations/records.ts";
import { createVisitingModule } from "./operations/visiting.ts";
import type { Store } from "./store/transaction.ts";

/** What `app.ts` has made and every module may use. */
export interface Shared {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly events: EventLog;
  readonly feed: EventFeed;
  readonly ceilings: CeilingCheck;
  readonly newToken: NewToken;
  /** Not started yet: channels are registered before it is. */
  readonly listener: Listener;
  /** Origin of the API. */
  readonly address: URL;
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  /** Blank cells that are kept started. Absent: none. */
  readonly warm?: number;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly instance: string;
  readonly nodeId: string;
  /** Operations this process is working on: what they left unfinished is nobody else's to judge. */
  readonly running: ReadonlySet<string>;
}

/** The parts of control. Their handlers together are the table that dispatch serves; two may not claim one operation. */
export const createModules = (shared: Shared): readonly Module[] => {
  const machines = createMachinesModule(shared);
  const { computers, resting, services, viewOf } = machines;
  const visiting = createVisitingModule({ ...shared, computers, resting, services, viewOf });
  return [...coreModules(shared), machines, visiting];
};

/** What stands without any computer: who there is, and what was done. */
export const coreModules = (shared: Shared): readonly Module[] => [
  createPrincipalsModule({ ...shared, db: shared.store.db, passphrases: createPassphrases() }),
  { handlers: recordHandlers({ db: shared.store.db, feed: shared.feed }) },
];

/** Throws when two modules claim one operation: the later would silently win. */
export const mergeHandlers = (modules: readonly Module[]): Module["handlers"] => {
  const merged: Record<string, unknown> = {};
  for (const module of modules)
    for (const [name, handler] of Object.entries(module.handlers)) {
      if (Object.hasOwn(merged, name)) throw new Error(`two modules claim ${name}`);
      merged[name] = handler;
    }
  return merged as Module["handlers"];
};
