import { controlGatewayMethods, ingressSocketPath } from "@holdfast/contract";
import { type Clock, createRpcClient, type Logger } from "@holdfast/kit";
import { type AskDoor, createAskDoor } from "./doors/ask.ts";
import { createPages } from "./doors/pages/pages.ts";
import { createVisitDoor, type VisitDoor } from "./doors/visits/door.ts";
import type { Certificate } from "./lib/certificate.ts";
import type { Options } from "./options.ts";
import { createPool } from "./proxy/pool.ts";
import { createUnreachable } from "./proxy/unreachable.ts";
import { createWaker } from "./proxy/waker.ts";
import { createRecords } from "./records/batch.ts";
import { createReports } from "./records/reports.ts";
import { createJudge } from "./rights/judge.ts";
import { createRights } from "./rights/rights.ts";
import { createWrongCredentials } from "./rights/wrong-credentials.ts";
import { createTrade } from "./rights/trade.ts";
import { createResting } from "./routes/resting.ts";
import { createRouteTable } from "./routes/table.ts";
import { watchRoutes } from "./routes/watch.ts";

export interface App {
  readonly visits: VisitDoor;
  readonly ask: AskDoor;
  /** Undefined when visitors can be served, else what is missing. */
  notReady(): string | undefined;
  /** One line about how things are. */
  detail(): string;
  stop(): Promise<void>;
}

export type AppOptions = Pick<Options, "instance" | "domain" | "address" | "tls" | "controlSocket"> & {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly certificate: Certificate | undefined;
  /** How many descriptors this process may have. */
  readonly descriptors: number;
  /** Tests put others in their place. */
  readonly ingressPath?: (computerId: string) => string;
};

const sweepMs = 500;
const endMs = 5000;

/** Wires the gateway together and starts what goes on by itself. The doors listen when they are told to. */
export const startApp = (options: AppOptions): App => {
  const { clock, domain, logger } = options;
  const scheme = options.tls === "none" ? "http" : "https";
  const client = () =>
    createRpcClient({ path: options.controlSocket, methods: controlGatewayMethods, clock });
  // Each on a connection of its own: what is long (routes, records, waking) does not hold up rights.
  const [forRoutes, forResting] = [client(), client()];
  const [forRights, forWaking, forRecords] = [client(), client(), client()];

  const pool = createPool({
    ingressPath: options.ingressPath ?? ((computerId) => ingressSocketPath(options.instance, computerId)),
    clock,
  });
  const table = createRouteTable((projectId, now) => {
    pool.close(projectId);
    visits.routeChanged({ projectId, now });
  });
  const rights = createRights({ control: forRights, clock, logger });
  const records = createRecords({ control: forRecords, clock, logger });
  const resting = createResting({ control: forResting, clock, logger });
  const reports = createReports({ control: forRecords, clock, logger });
  const wrong = createWrongCredentials(clock);
  const visits: VisitDoor = createVisitDoor({
    certificate: options.certificate,
    clock,
    logger,
    descriptors: options.descriptors,
    shared: {
      judge: createJudge({ domain, scheme, table, rights, wrong }),
      trade: createTrade({ domain, table, control: forRights, clock, logger, wrong }),
      proxy: {
        pool,
        waker: createWaker({ control: forWaking, clock, logger }),
        clock,
        unreachable: createUnreachable(clock, logger),
        resting,
        moved: (projectId) => reports.moved(projectId),
      },
      pages: createPages({ address: options.address, domain }),
      records,
      clock,
      scheme,
      believesProxy: options.tls === "proxy",
    },
  });
  const ask = createAskDoor({ domain, table, clock, logger });

  const stopping = new AbortController();
  const sweep = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(sweepMs, stopping.signal).catch(() => {});
      visits.sweep();
      pool.sweep();
    }
  };
  const loops = [
    watchRoutes({ control: forRoutes, table, clock, logger, signal: stopping.signal }),
    rights.watch(stopping.signal),
    records.run(stopping.signal),
    reports.run(stopping.signal),
    resting.run(stopping.signal),
    sweep(),
  ];

  return {
    visits,
    ask,
    notReady: () => (table.filled ? undefined : "control has not said yet which projects there are"),
    detail: () => {
      const { open, idle } = pool.counts;
      const lost = records.dropped > 0 ? `, ${records.dropped} access records dropped` : "";
      return `${visits.sockets} visitors' connections, ${open} into computers (${idle} idle)${lost}`;
    },
    stop: async () => {
      await visits.close(endMs);
      await ask.close();
      pool.close();
      stopping.abort();
      forRoutes.close();
      forResting.close();
      await Promise.all(loops);
      for (const control of [forRights, forWaking, forRecords]) control.close();
    },
  };
};
