import type { TestContext } from "node:test";
import { type AgentProcessSpec, type AgentProcessState, HoldfastError } from "@holdfast/contract";
import { createIds, systemClock } from "@holdfast/kit";
import pg from "pg";
import {
  type Agent,
  AgentFault,
  type Agents,
  AgentUnreachable,
} from "../../packages/control/src/domain/agents.ts";
import type { Computers } from "../../packages/control/src/domain/computer.ts";
import type { Module } from "../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../packages/control/src/modules.ts";
import { createScheduleWork } from "../../packages/control/src/operations/schedule-work.ts";
import { getComputer } from "../../packages/control/src/store/computers.ts";
import { ProcessKeeper, Processes, WorkWatch } from "../../packages/control/src/work/index.ts";
import { call, createKey, enrolOwner, startControl, type TestControl } from "./control.ts";
import { type LeapingClock, leapingClock } from "./leaping-clock.ts";
import type { TestPostgres } from "./postgres.ts";
import { until } from "./until.ts";

export interface PlayedProcess {
  readonly computer: string;
  readonly spec: AgentProcessSpec;
  state: AgentProcessState;
}

/** Computers that are only rows, on which commands are only words: `true`, `exit N` and `hang`. What runs there outlives control. */
export interface PlayedCells {
  /** By id, in the order they were started. */
  readonly processes: Map<string, PlayedProcess>;
  /** A hanging one ends. */
  end(id: string, code: number): void;
  /** Called before each start; what it throws is the answer. */
  before: (spec: AgentProcessSpec) => Promise<void> | void;
  /** What became of computers: their ids, each time one was woken. */
  readonly woken: string[];
}

export interface PlayedSchedules {
  readonly control: TestControl;
  readonly clock: LeapingClock;
  readonly cells: PlayedCells;
  readonly owner: string;
  readonly key: Awaited<ReturnType<typeof createKey>>;
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): ReturnType<typeof call>;
  /** Throws where it is refused. */
  make(
    fields: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>> & { readonly id: string }>;
  runs(schedule: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Until so many runs of the schedule are in one of these states. */
  untilRuns(
    schedule: string,
    count: number,
    ...states: string[]
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Paused, and all its runs once none goes on any more. */
  settled(schedule: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  computer(name: string, state?: string): Promise<string>;
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** Control with schedules, real rows and a clock that leaps, on computers that are played. */
export const playSchedules = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres | Promise<TestPostgres>,
): Promise<PlayedSchedules> => {
  const clock = leapingClock();
  const cells = playCells(clock);
  const modules = (shared: Shared): readonly Module[] => [
    ...coreModules(shared),
    playedModule(shared, cells),
  ];
  const control = await startControl(context, postgres, { clock, modules });
  const owner = await enrolOwner(control);
  const key = await createKey(control, owner, "claude");
  const database = new pg.Pool({ connectionString: control.databaseUrl, max: 4 });
  database.on("error", () => {});
  context.after(() => database.end());
  const sql: PlayedSchedules["sql"] = async (text, values = []) =>
    (await database.query<Record<string, unknown>>(text, [...values])).rows;
  const ids = createIds(systemClock);
  const ask: PlayedSchedules["ask"] = (method, path, body, headers) =>
    call(control.url, key.secret, method, path, body, headers);
  const runs: PlayedSchedules["runs"] = async (schedule) => {
    const reply = await ask("GET", `/v1/runs?schedule=${schedule}&limit=200`);
    return (reply.body["runs"] as Readonly<Record<string, unknown>>[]).toReversed();
  };
  return {
    control,
    clock,
    cells,
    owner,
    key,
    ask,
    sql,
    runs,
    make: async (fields) => {
      const reply = await ask("POST", "/v1/schedules", { computer: "box", command: "true", ...fields });
      if (reply.status !== 201)
        throw new Error(`schedule.create: ${reply.status} ${JSON.stringify(reply.body)}`);
      return { ...reply.body, id: String(reply.body["id"]) };
    },
    untilRuns: async (schedule, count, ...states) => {
      let found: readonly Readonly<Record<string, unknown>>[] = [];
      await until(
        `${count} runs are ${states.join(" or ")}`,
        async () => {
          found = (await runs(schedule)).filter(({ state }) => states.includes(String(state)));
          return found.length >= count;
        },
        { detail: () => JSON.stringify(found.map(({ state, slot, reason }) => [state, slot, reason])) },
      );
      return found;
    },
    settled: async (schedule) => {
      await ask("POST", `/v1/schedules/${schedule}/pause`, {});
      let found: readonly Readonly<Record<string, unknown>>[] = [];
      await until(
        "no run goes on",
        async () => {
          found = await runs(schedule);
          return found.every(
            ({ state }) => !["queued", "running", "waiting_to_retry"].includes(String(state)),
          );
        },
        { detail: () => JSON.stringify(found.map(({ state, slot, reason }) => [state, slot, reason])) },
      );
      return found;
    },
    computer: async (name, state = "awake") => {
      const id = ids("computer");
      const cell = state === "awake" || state === "asleep" ? ids("cell") : null;
      await sql(
        `insert into computers (id, account_id, node_id, principal_id, name, description, size, environment, state, desired_state,
           image, cell_id, created_at_ms, updated_at_ms)
         select $1, accounts.id, nodes.id, $2, $3, '', 'small', '{"COLOUR": "green"}', $4::text,
           case $4::text when 'failed' then 'stopped' else $4::text end, 'image', $5, 0, 0
         from accounts, nodes limit 1`,
        [id, key.assistant, name, state, cell],
      );
      return id;
    },
  };
};

const playedModule = (shared: Shared, cells: ReturnType<typeof playCells>): Module => {
  const { store, clock, ids } = shared;
  const computers: Computers = {
    activity: {
      use: () => () => {},
      look: () => () => {},
      touch: () => {},
      inUse: () => false,
      isLeaving: () => false,
      quietMs: () => 0,
    },
    find: async (principal, ref) => computers.choose(principal, ref, []),
    choose: (_principal, ref) => {
      throw new HoldfastError("not_found", `there is no computer ${ref}`);
    },
    reach: async ({ id }) => {
      const now = await getComputer(store.db, id);
      if (!now) throw new HoldfastError("not_found", "it is gone");
      if (now.state === "failed") throw new HoldfastError("computer_failed", "it has failed", {});
      if (now.state === "awake") return now;
      cells.woken.push(id);
      await store.db
        .updateTable("computers")
        .set({ state: "awake", desired_state: "awake", cell_id: now.cellId ?? ids("cell") })
        .where("id", "=", id)
        .execute();
      return { ...now, state: "awake", desiredState: "awake", cellId: now.cellId ?? "cel" };
    },
    reachAgain: (computer, signal) => computers.reach(computer, signal),
  };
  const keeper = new ProcessKeeper({ ...shared, agents: cells.agents });
  const processes = new Processes({ agents: cells.agents, computers, db: store.db, keeper });
  const work = createScheduleWork({ ...shared, agents: cells.agents, computers, keeper, processes });
  const watch = new WorkWatch({
    ...shared,
    db: store.db,
    clock,
    processes: keeper,
    services: { look: async () => {} } as unknown as ConstructorParameters<typeof WorkWatch>[0]["services"],
  });
  return {
    handlers: work.handlers,
    reconcilers: work.reconcilers,
    start: () => {
      work.start();
      watch.start();
      return Promise.resolve();
    },
    clean: () => work.clean(),
    stop: async () => {
      await work.stop();
      await watch.stop();
    },
  };
};

const playCells = (clock: LeapingClock): PlayedCells & { readonly agents: Agents } => {
  const processes = new Map<string, PlayedProcess>();
  const heard = new Set<() => void>();
  const over = (id: string, exit: NonNullable<AgentProcessState["exit"]>, timedOut = false): void => {
    const process = processes.get(id);
    if (!process || process.state.state === "ended") return;
    process.state = { ...process.state, state: "ended", exit, timed_out: timedOut, ended_at_ms: clock.now() };
    for (const hear of heard) hear();
  };
  const cells: PlayedCells = {
    processes,
    woken: [],
    end: (id, code) => over(id, { kind: "exited", code }),
    before: () => {},
  };
  const start = async (computer: string, spec: AgentProcessSpec): Promise<AgentProcessState> => {
    await cells.before(spec);
    const known = processes.get(spec.id);
    if (known) return { ...known.state, existed: true };
    const line = spec.shell ?? spec.argv?.join(" ") ?? "";
    processes.set(spec.id, {
      computer,
      spec,
      state: {
        id: spec.id,
        pid: 1,
        command: line,
        state: "running",
        exit: null,
        timed_out: false,
        out_of_memory: false,
        background: false,
        pty: false,
        stdin_open: false,
        started_at_ms: clock.now(),
        ended_at_ms: null,
        output_bytes: 0,
        dropped_bytes: 0,
      },
    });
    const code = line === "true" ? 0 : /^exit (\d+)$/.exec(line)?.[1];
    if (code !== undefined) setTimeout(() => over(spec.id, { kind: "exited", code: Number(code) }), 2);
    else if (spec.timeout_ms > 0)
      clock.after(spec.timeout_ms, () => over(spec.id, { kind: "signaled", signal: 9 }, true));
    return processes.get(spec.id)?.state as AgentProcessState;
  };
  const get = async (
    id: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<AgentProcessState> => {
    const process = processes.get(id);
    if (!process) throw new AgentFault("not_found", "not_found", "there is no such process", {});
    if (process.state.state === "running" && waitMs > 0)
      await new Promise<void>((resolve, reject) => {
        const hear = (): void => {
          if (process.state.state !== "ended") return;
          heard.delete(hear);
          resolve();
        };
        heard.add(hear);
        clock.after(waitMs, () => resolve());
        const gaveUp = (): void => {
          heard.delete(hear);
          reject(new AgentUnreachable("control gave up", true));
        };
        // Control may be told to end while it looks up whom to ask: then nothing is waited for, as with a real agent.
        if (signal?.aborted) return gaveUp();
        signal?.addEventListener("abort", gaveUp, { once: true });
      });
    return process.state;
  };
  const agentOf = (computer: string): Agent =>
    ({
      plain: async (
        method: string,
        params: Record<string, unknown>,
        options: { signal?: AbortSignal } = {},
      ): Promise<unknown> => {
        const id = String(params["id"]);
        if (method === "processes.start") return start(computer, params as unknown as AgentProcessSpec);
        if (method === "processes.get") return get(id, Number(params["wait_ms"] ?? 0), options.signal);
        if (method === "processes.list")
          return {
            processes: [...processes.values()]
              .filter((one) => one.computer === computer)
              .map(({ state }) => state),
          };
        if (method === "processes.signal") {
          if (!processes.has(id))
            throw new AgentFault("not_found", "not_found", "there is no such process", {});
          over(id, { kind: "signaled", signal: Number(params["signal"]) });
          return processes.get(id)?.state;
        }
        throw new Error(`nobody plays ${method}`);
      },
    }) as unknown as Agent;
  return {
    ...cells,
    get before() {
      return cells.before;
    },
    set before(next) {
      cells.before = next;
    },
    agents: { of: agentOf },
  };
};
