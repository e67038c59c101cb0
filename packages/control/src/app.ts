import { HoldfastError, limits, socketPath, supervisorMethods } from "@holdfast/contract";
import {
  type Clock,
  type CrashPoint,
  createRateLimiter,
  createRpcClient,
  type Logger,
  type NewId,
} from "@holdfast/kit";
import { ceilingCheck } from "./authority/ceilings.ts";
import { createHostAuthority, type HostAuthority } from "./authority/host.ts";
import { createAuthority } from "./authority/identify.ts";
import { createTokens } from "./authority/tokens.ts";
import { createDispatch, type RunningDispatch } from "./dispatch.ts";
import { createReconciliation } from "./dispatch/reconcile.ts";
import { openStages, stageReports } from "./dispatch/stages.ts";
import type { Module } from "./domain/module.ts";
import type { Visits } from "./domain/visits.ts";
import { createRecordBatch } from "./evidence/record-batch.ts";
import { createEventFeed } from "./events/feed.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { createModules, mergeHandlers, type Shared } from "./modules.ts";
import { createEventLog } from "./store/events.ts";
import { createListener } from "./store/listener.ts";
import { migrate } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import { ensureAccount, registerNode } from "./store/owners.ts";

export interface AppOptions {
  readonly databaseUrl: string;
  readonly instance: string;
  readonly nodeId: string;
  /** Origin of the API. */
  readonly address: URL;
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  /** Blank cells that are kept started. Absent: none. */
  readonly warm?: number;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  /** Tests put others in their place. */
  readonly modules?: (shared: Shared) => readonly Module[];
  readonly supervisorSocket?: string;
}

export interface App {
  readonly dispatch: RunningDispatch;
  readonly host: HostAuthority;
  /** Undefined where no module serves visitors. */
  readonly visits: Visits | undefined;
  /** Undefined when requests can be served, else what is missing. */
  notReady(): string | undefined;
  /** Ends what is under way, writes down what is queued, closes the database. The doors are closed before. */
  stop(): Promise<void>;
}

/** Between two tries while the database does not answer at the start. */
const retryMs = 50;
const sayAgainMs = 30_000;

/**
 * Wires control together and starts it: schema, modules, the outcomes of operations that were left behind. Waits for the database as long
 * as it takes; throws when the schema cannot be brought up to date.
 */
export const startApp = async (options: AppOptions, signal: AbortSignal): Promise<App> => {
  const { clock, logger, ids, nodeId } = options;
  const store = openStore({ url: options.databaseUrl, logger, crashPoint: options.crashPoint });
  const accountId = await untilDatabaseAnswers(options, signal, async () => {
    await migrate({ url: options.databaseUrl, logger, now: clock.now, crashPoint: options.crashPoint });
    const nowMs = clock.now();
    await registerNode(store.db, { id: nodeId, name: options.instance, nowMs });
    return ensureAccount(store.db, { id: ids("account"), name: options.instance, nowMs });
  });

  const listener = createListener({ url: options.databaseUrl, clock, logger });
  const authority = createAuthority({ db: store.db, clock, listener });
  const records = createRecordBatch({ db: store.db, clock, logger });
  const events = createEventLog(clock.now);
  const feed = createEventFeed({ store, listener, clock, logger });
  const newToken = createTokens();
  const supervisor = createRpcClient({
    path: options.supervisorSocket ?? socketPath(options.instance, "supervisor", "control"),
    methods: supervisorMethods,
    clock,
  });
  const running = new Set<string>();
  const modules = (options.modules ?? createModules)({
    ...options,
    store,
    events,
    feed,
    ceilings: ceilingCheck,
    newToken,
    listener,
    supervisor,
    running,
  });
  const dispatch = createDispatch({
    ...options,
    ...openStages,
    store,
    accountId,
    authority,
    records,
    rate: createRateLimiter(clock, { most: limits.requestsPerWindow, windowMs: limits.requestWindowMs }),
    handlers: mergeHandlers(modules),
    running,
  });
  const reconciliation = createReconciliation({
    ...options,
    store,
    running,
    reconcilers: modules.flatMap((module) => module.reconcilers ?? []),
  });
  const housekeeping = createHousekeeping({
    store,
    clock,
    logger,
    authority,
    reconciliation,
    cleaners: modules.map((module) => async () => module.clean?.()),
  });

  listener.start();
  feed.start();
  for (const module of modules) await module.start?.();
  await reconciliation.pass();
  housekeeping.start();

  return {
    dispatch,
    host: createHostAuthority({ ...options, store, accountId, newToken, events }),
    visits: modules.find((module) => module.visits !== undefined)?.visits,
    notReady: () => {
      if (!listener.connected()) return "the database is not answering";
      return modules.map((module) => module.notReady?.()).find((missing) => missing !== undefined);
    },
    stop: async () => {
      dispatch.stop();
      await housekeeping.stop();
      for (const module of [...modules].reverse()) await module.stop?.();
      await feed.stop();
      await records.flush().catch((error: unknown) => logger.warn("records were lost at the end", { error }));
      await authority.flushUses().catch((error: unknown) => logger.debug("uses were not written", { error }));
      await listener.stop();
      supervisor.close();
      await store.close();
    },
  };
};

export const stages = stageReports(openStages);

const untilDatabaseAnswers = async <T>(
  options: AppOptions,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> => {
  let sayAt = options.clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === "unavailable")) throw error;
      if (options.clock.monotonic() >= sayAt) {
        options.logger.info("waiting for the database", { error });
        sayAt = options.clock.monotonic() + sayAgainMs;
      }
      await options.clock.sleep(retryMs, signal);
    }
  }
};
