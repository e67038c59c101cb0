import type { TestContext } from "node:test";
import { type CellView, limits, type SupervisorMethods } from "@holdfast/contract";
import {
  type Clock,
  createCrashPoint,
  createIds,
  createLogger,
  type RpcClient,
  systemClock,
} from "@holdfast/kit";
import pg from "pg";
import {
  ComputerActivity,
  LivingComputers,
  Moves,
  Reconciler,
  Sleeper,
} from "../../packages/control/src/computers/index.ts";
import type { MoveParts } from "../../packages/control/src/computers/moves.ts";
import type { Computer } from "../../packages/control/src/domain/computer.ts";
import { getComputer, insertComputer, type NewComputer } from "../../packages/control/src/store/computers.ts";
import { createEventLog } from "../../packages/control/src/store/events.ts";
import { openStore } from "../../packages/control/src/store/open.ts";
import type { Store } from "../../packages/control/src/store/transaction.ts";
import type { TestPostgres } from "./postgres.ts";

export interface PlayedComputers {
  readonly store: Store;
  readonly activity: ComputerActivity;
  readonly reconciler: Reconciler;
  readonly computers: LivingComputers;
  readonly sleeper: Sleeper;
  /** State of each computer's cell. */
  readonly cells: Map<string, CellView["state"]>;
  /** Each call of the supervisor that changes something, as `method id`. */
  readonly did: string[];
  /** Called before each call of the supervisor; what it throws is the answer. */
  before: (method: string, id: string) => Promise<void> | void;
  /** Milliseconds of the processor that each has used. */
  readonly cpuMs: Map<string, number>;
  /** Moves the clock on; timers go on as they would. */
  leap(ms: number): void;
  now(): number;
  /** A computer of this name that is awake. */
  awake(name: string, fields?: Partial<NewComputer>): Promise<Computer>;
  get(id: string): Promise<Computer>;
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** Kinds and causes of a computer's events, oldest first. */
  told(id: string): Promise<readonly string[]>;
}

/** Everything that moves computers, on real rows and a clock that leaps; of the supervisor only names are there. */
export const playComputers = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres | Promise<TestPostgres>,
  parts: Partial<MoveParts> = {},
): Promise<PlayedComputers> => {
  const { url, drop } = await (await postgres).createDatabase();
  let leapt = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + leapt,
    monotonic: () => systemClock.monotonic() + leapt,
  };
  const logger = createLogger({ program: "test", level: "error", now: clock.now, write: () => undefined });
  const store = openStore({ url, logger });
  const pool = new pg.Pool({ connectionString: url });
  pool.on("error", () => {});
  const ids = createIds(clock);
  const events = createEventLog(clock.now);
  const activity = new ComputerActivity(clock);
  const cells: PlayedComputers["cells"] = new Map();
  const archives = new Map<string, boolean>();
  const cellIds = new Map<string, string>();
  const did: string[] = [];
  const cpuMs = new Map<string, number>();

  const view = (id: string): CellView => ({
    computer_id: id,
    cell_id: cellIds.get(id) ?? "",
    state: cells.get(id) ?? "exited",
    size: "small",
    started_at_ms: 0,
    lease_ends_in_ms: limits.leaseMs,
    warm: false,
    exit: null,
  });
  const answers: Readonly<Record<string, (id: string) => unknown>> = {
    "volume.create": (id) => {
      archives.set(id, false);
      return { created: true, image: "image" };
    },
    "volume.fork": () => ({ created: true, image: "image" }),
    "volume.list": () => ({
      volumes: [...archives].map(([computer_id, archived]) => ({
        computer_id,
        archived,
        size: "small",
        image: "image",
      })),
    }),
    "archive.seal": (id) => {
      archives.set(id, true);
      return { sealed: true };
    },
    "archive.unpacked": (id) => {
      archives.set(id, false);
      return { done: true };
    },
    "volume.destroy": (id) => {
      cells.delete(id);
      archives.delete(id);
      return { destroyed: true, erased: { volumes: 1, snapshots: 2, archives: 0 } };
    },
    "cell.start": (id) => {
      const started = !cells.has(id);
      if (started) cellIds.set(id, ids("cell"));
      cells.set(id, "running");
      return { cell: view(id), started };
    },
    "cell.freeze": (id) => {
      if (!cells.has(id)) return { cell: null };
      cells.set(id, "frozen");
      return { cell: view(id) };
    },
    "cell.thaw": (id) => {
      cells.set(id, "running");
      return { cell: view(id) };
    },
    "cell.stop": (id) => ({ stopped: cells.delete(id) }),
    "cell.list": () => ({ cells: [...cells.keys()].map(view) }),
    "usage.read": (id) => ({ usage: { cpu_ms: cpuMs.get(id) ?? 0 } }),
  };
  const supervisor = {
    call: async (method: string, params: { readonly computer_id?: string }) => {
      const id = params.computer_id ?? "";
      if (!quiet.has(method)) did.push(`${method} ${id}`);
      await played.before(method, id);
      return answers[method]?.(id) ?? {};
    },
    close: () => {},
  } as unknown as RpcClient<SupervisorMethods>;

  const all = {
    store,
    events,
    clock,
    logger,
    activity,
    supervisor,
    nodeId: "node",
    crashPoint: createCrashPoint({}),
    agents: { of: () => ({ plain: async () => ({ entries: [], next: null, deleted: 1 }) }) },
    trees: {},
    observer: { started: async () => {}, stopping: async () => {}, gone: async () => {}, forget: () => {} },
    origins: { ready: async () => {} },
    restorer: { restored: async () => {} },
    ...parts,
  } as unknown as MoveParts & { readonly nodeId: string };
  const moves = new Moves(all);
  const reconciler = new Reconciler({ ...all, logger, moves, relief: { ask: () => {} } } as never);
  const computers = new LivingComputers({ ...all, db: store.db, reconciler });
  const sleeper = new Sleeper({ ...all, logger, reconciler });
  const sql = async (text: string, values: readonly unknown[] = []) =>
    (await pool.query<Record<string, unknown>>(text, [...values])).rows;
  await sql("insert into accounts (id, name, created_at_ms) values ('acc', 'test', 0)");
  await sql("insert into nodes (id, name, seen_at_ms) values ('node', 'test', 0)");
  const get = async (id: string): Promise<Computer> => {
    const row = await getComputer(store.db, id);
    if (!row) throw new Error(`there is no computer ${id}`);
    return row;
  };

  const played: PlayedComputers = {
    store,
    activity,
    reconciler,
    computers,
    sleeper,
    cells,
    did,
    cpuMs,
    before: () => {},
    leap: (ms) => {
      leapt += ms;
    },
    now: () => clock.now(),
    awake: async (name, fields = {}) => {
      const made = await insertComputer(store.db, {
        id: ids("computer"),
        accountId: "acc",
        nodeId: "node",
        principalId: "asst_one",
        name,
        description: "",
        size: "small",
        environment: {},
        nowMs: clock.now(),
        ...fields,
      });
      return computers.reach(made, new AbortController().signal);
    },
    get,
    sql,
    told: async (id) =>
      (await sql("select kind, data->>'cause' as cause from events where target = $1 order by id", [id])).map(
        ({ kind, cause }) => `${String(kind).replace("computer.", "")} ${String(cause)}`,
      ),
  };
  context.after(async () => {
    await sleeper.stop();
    await reconciler.stop();
    await pool.end();
    await store.close();
    await drop();
  });
  return played;
};

const quiet: ReadonlySet<string> = new Set(["cell.list", "usage.read", "lease.renew", "volume.list"]);
