import {
  type AccessRecord,
  type ControlGatewayMethods,
  controlGatewayMethods,
  type Right,
  type Route,
} from "@holdfast/contract";
import { createLogger, createRpcServer, type RpcHandlers, systemClock } from "@holdfast/kit";

type Wake = Awaited<ReturnType<RpcHandlers<ControlGatewayMethods>["project.wake"]>>;

/** What gateway asks of control, answered from what a test says. */
export interface FakeControl {
  /** Changes or adds routes; whoever waits for changes hears of it. */
  route(...routes: readonly Route[]): void;
  /** Credentials that give a right, by `<project> <kind> <token>`. Deleting one withdraws it. */
  readonly rights: Map<string, Right>;
  /** Tickets and shares, by `<project> <kind> <token>`: the session each is traded for. */
  readonly trades: Map<string, { token: string; expires_at_ms: number }>;
  readonly records: AccessRecord[];
  /** Methods that were called, with what they were called for. */
  readonly calls: { readonly method: string; readonly params: unknown }[];
  /** How long it takes to say which rights hold. */
  holdMs: number;
  onWake: (projectId: string, rightId: string | null) => Promise<Wake> | Wake;
  /** Says that a computer rests, or does not any more. */
  rests(computerId: string, rests: boolean): void;
  /** Takes no calls until it is started again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const startControl = async (path: string): Promise<FakeControl> => {
  const log: { revision: number; route: Route }[] = [];
  let revision = 0;
  let changed = Promise.withResolvers<void>();
  const ready: Wake = { state: "ready", retry_after_ms: 0, reason: null, log: null };
  const find = (rights: ReadonlyMap<string, Right>, id: string): boolean =>
    [...rights.values()].some((right) => right.id === id);

  const resting = {
    revision: 0,
    changed: Promise.withResolvers<void>(),
    computers: [] as { computer_id: string; rests: boolean }[],
  };

  const control: FakeControl = {
    rights: new Map(),
    trades: new Map(),
    records: [],
    calls: [],
    holdMs: 0,
    onWake: () => ready,
    route: (...routes) => {
      for (const route of routes) {
        revision += 1;
        log.push({ revision, route });
      }
      changed.resolve();
      changed = Promise.withResolvers();
    },
    rests: (id, rests) => {
      resting.revision += 1;
      resting.computers = [{ computer_id: id, rests }];
      resting.changed.resolve();
      resting.changed = Promise.withResolvers();
    },
    stop: async () => {
      await server?.close();
      server = undefined;
    },
    start: async () => {
      server = createRpcServer({ methods: controlGatewayMethods, handlers, logger });
      await server.listen({ path });
    },
  };
  const handlers: RpcHandlers<ControlGatewayMethods> = {
    "routes.watch": async ({ after, wait_ms }, signal) => {
      const since = () => log.filter((entry) => entry.revision > after);
      if (since().length === 0 && wait_ms > 0) {
        const ended = new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
        await Promise.race([changed.promise, ended]);
      }
      return { next: revision, routes: since().map(({ route }) => route) };
    },
    "right.trade": async (params) => {
      control.calls.push({ method: "right.trade", params });
      const key = `${params.project_id} ${params.kind} ${params.token}`;
      const session = control.trades.get(key) ?? null;
      if (params.kind === "ticket") control.trades.delete(key);
      return { session };
    },
    "right.find": async (params) => {
      control.calls.push({ method: "right.find", params });
      return { right: control.rights.get(`${params.project_id} ${params.kind} ${params.token}`) ?? null };
    },
    "right.hold": async ({ ids }) => {
      if (control.holdMs > 0) await systemClock.sleep(control.holdMs);
      return { held: ids.filter((id) => find(control.rights, id)) };
    },
    "project.wake": async (params) => {
      control.calls.push({ method: "project.wake", params });
      return control.onWake(params.project_id, params.right_id);
    },
    "visits.report": async (params) => {
      control.calls.push({ method: "visits.report", params });
      return {};
    },
    "resting.watch": async ({ after, wait_ms }, signal) => {
      if (resting.revision <= after && wait_ms > 0) {
        const ended = new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
        await Promise.race([resting.changed.promise, ended]);
      }
      return { next: resting.revision, computers: resting.revision > after ? resting.computers : [] };
    },
    "access.record": async ({ records }) => {
      control.records.push(...records);
      return {};
    },
  };
  const logger = createLogger({ program: "control", now: () => 0, write: () => {} });
  let server: ReturnType<typeof createRpcServer> | undefined;
  await control.start();
  return control;
};
