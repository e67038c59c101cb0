import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { after } from "node:test";
import {
  agentSocketPath,
  socketPath,
  supervisorLauncherMethods,
  supervisorMethods,
  type SupervisorLauncherMethods,
  type SupervisorMethods,
} from "@holdfast/contract";
import { createIds, createRpcClient, systemClock, type RpcClient } from "@holdfast/kit";
import { placesOf, type Places } from "@holdfast/launcher";
import { SocketAgents } from "../../packages/control/src/agents/index.ts";
import { prepare, takeAway } from "./cell-pool.ts";
import { compileCache } from "./compile-cache.ts";
import { onInterruption } from "./interruption.ts";
import { leftovers } from "./leaks.ts";

const root = new URL("../..", import.meta.url).pathname;
const idsPerComputer = 65_536;
/** Far above the blocks that the registry hands out, and another for each test file, so that files side by side share no ids. */
const testIds = { first: 45_777 * idsPerComputer, blocks: 64, choices: 250 };

const plainProcess = {
  cwd: "/",
  env: {},
  user: { uid: 0, gid: 0 },
  stdin: "closed",
  timeout_ms: 0,
  pty: null,
  output_limit_bytes: 1024 * 1024,
  max_output_bytes: 1024 * 1024,
} as const;

export interface Outcome {
  readonly code: number | undefined;
  readonly signal: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A supervisor of the test's own on a pool of its own, with the real image and the real agent. */
export interface CellHost {
  readonly places: Places;
  readonly instance: string;
  readonly shortId: string;
  readonly agent: string;
  readonly flags: readonly string[];
  readonly control: RpcClient<SupervisorMethods>;
  readonly launcher: RpcClient<SupervisorLauncherMethods>;
  readonly agents: SocketAgents;
  readonly log: string;
  /** Starts the program and waits until it serves, unless told otherwise. */
  start(options?: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly flags?: readonly string[];
    /** A line of shell that runs first, in a mount namespace of the program's own: what it mounts, the host does not see. */
    readonly first?: string;
  }): Promise<void>;
  /** As by `kill -9`. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves with true when the program ends by itself within the time. */
  ended(withinMs: number): Promise<boolean>;
  newComputer(): Promise<string>;
  exec(computerId: string, argv: readonly string[], options?: { readonly waitMs?: number }): Promise<Outcome>;
  /** What is on the host of other computers than these. */
  leftovers(computers: readonly string[]): Promise<string[]>;
  /** Ends everything and takes the pool away. */
  close(): Promise<void>;
}

/**
 * The cell host of a test file, serving. Await it at the top of the file: afterwards no trace of a computer may be left, and the host goes
 * with its pool whatever happened.
 */
export const useCellHost = async (): Promise<CellHost> => {
  const host = await openCellHost();
  try {
    await host.start();
  } catch (error) {
    await host.close();
    throw error;
  }
  after(async () => {
    try {
      const { volumes } = await host.control.call("volume.list", {});
      for (const { computer_id } of volumes) await host.control.call("volume.destroy", { computer_id });
      assert.deepEqual(await host.leftovers([]), []);
    } finally {
      await host.close();
    }
  });
  return host;
};

/** One that the caller starts and closes. */
export const openCellHost = async (): Promise<CellHost> => {
  const shortId = randomBytes(8)
    .toString("hex")
    .replace(/[^a-z0-9]/g, "")
    .slice(0, 4);
  const instance = `t${shortId}`;
  const data = `/var/lib/holdfast-test-${instance}`;
  const places = placesOf(instance, data);
  const forget = onInterruption(() => takeAway(places));
  let agent: string;
  let image: string;
  try {
    ({ agent, image } = await prepare(places));
  } catch (error) {
    await takeAway(places);
    throw error;
  }
  const log = join(data, "supervisor.log");
  const base = testIds.first + randomInt(testIds.choices) * testIds.blocks * idsPerComputer;
  const flags = [
    "--instance",
    instance,
    "--short-id",
    shortId,
    "--pool",
    places.pool,
    "--image",
    image,
    "--uid-base",
    String(base),
    "--uid-count",
    String(testIds.blocks * idsPerComputer),
    "--control-gid",
    "0",
    "--gateway-gid",
    "0",
    "--agent",
    agent,
    "--run",
    places.run,
  ];
  const newId = createIds(systemClock);
  const client = { clock: systemClock, timeoutMs: 60_000 };
  const control = createRpcClient({
    ...client,
    path: socketPath(instance, "supervisor", "control"),
    methods: supervisorMethods,
  });
  const launcher = createRpcClient({
    ...client,
    path: socketPath(instance, "supervisor", "launcher"),
    methods: supervisorLauncherMethods,
  });
  const agents = new SocketAgents({ socketPath: (id) => agentSocketPath(instance, id), clock: systemClock });
  let keeper: ReturnType<typeof spawn> | undefined;
  const gone = async (): Promise<void> => {
    if (keeper && isAlive(keeper)) await once(keeper, "exit");
    keeper = undefined;
  };

  const end = async (): Promise<void> => {
    keeper?.kill("SIGKILL");
    await gone();
  };
  let isOpen = true;
  /** A test that goes on while its process is being ended starts nothing again. */
  const mustBeOpen = (): void => {
    if (!isOpen) throw new Error("the host is closed");
  };

  const host: CellHost = {
    places,
    instance,
    shortId,
    agent,
    flags,
    control,
    launcher,
    agents,
    log,
    start: async (options = {}) => {
      mustBeOpen();
      const output = await open(log, "a", 0o600);
      const sockets = [launcher, control].map((_, index) =>
        socketPath(instance, "supervisor", index === 0 ? "launcher" : "control"),
      );
      const listen = sockets.flatMap((path) => ["--listen", `${path}:0:600`]);
      const main = join(root, "packages/supervisor/src/main.ts");
      const argv = [
        "host",
        "program",
        ...listen,
        "--",
        ...(options.first === undefined ? [] : inOwnMounts(options.first)),
        process.execPath,
        main,
        ...flags,
        ...(options.flags ?? []),
      ];
      keeper = spawn(agent, argv, {
        detached: true,
        stdio: ["ignore", output.fd, output.fd],
        env: {
          PATH: process.env["PATH"],
          HOLDFAST_LOG_LEVEL: "debug",
          ...compileCache(),
          ...options.environment,
        },
      });
      await output.close();
      await ready(host, keeper);
    },
    kill: async () => {
      mustBeOpen();
      await end();
    },
    ended: async (withinMs) => {
      const waiting = keeper;
      if (!waiting || !isAlive(waiting)) return true;
      const abort = new AbortController();
      const timeout = systemClock.after(withinMs, () => abort.abort());
      try {
        await once(waiting, "exit", { signal: abort.signal });
        return true;
      } catch {
        return false;
      } finally {
        timeout();
      }
    },
    newComputer: async () => {
      const id = newId("computer");
      await control.call("volume.create", { computer_id: id, size: "small" });
      await control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
      return id;
    },
    exec: async (computerId, argv, options = {}) => {
      const waitMs = options.waitMs ?? 30_000;
      const run = await agents
        .of(computerId)
        .download(
          "processes.run",
          { ...plainProcess, id: newId("process"), argv, wait_ms: waitMs },
          { waitMs },
        );
      const output = { stdout: "", stderr: "" };
      for await (const piece of run.pieces)
        if (piece.kind === "output") output[piece.stream] += piece.bytes.toString();
      const exit = run.head.process.exit;
      return {
        code: exit?.kind === "exited" ? exit.code : undefined,
        signal: exit?.kind === "signaled" ? exit.signal : undefined,
        ...output,
      };
    },
    leftovers: (computers) =>
      leftovers(
        {
          instance,
          shortId,
          pool: places.pool,
          run: places.run,
          uidBase: base,
          uidCount: testIds.blocks * idsPerComputer,
        },
        { computers },
      ),
    close: async () => {
      // What runs on without its supervisor can only be ended by one.
      if (!isAlive(keeper) && (await host.leftovers([])).some((trace) => /^(process|cgroup) /.test(trace)))
        await host.start().catch(() => undefined);
      isOpen = false;
      if (isAlive(keeper)) await launcher.call("clear", {}).catch(() => undefined);
      await end();
      control.close();
      launcher.close();
      await takeAway(places);
      stay();
    },
  };
  const stay = onInterruption(() => host.close());
  forget();
  return host;
};

const isAlive = (keeper: ReturnType<typeof spawn> | undefined): boolean =>
  keeper !== undefined && keeper.exitCode === null && keeper.signalCode === null;

const inOwnMounts = (line: string): readonly string[] => [
  "unshare",
  "--mount",
  "--propagation=private",
  "sh",
  "-ec",
  `${line}; exec "$@"`,
  "sh",
];

const ready = async (host: CellHost, keeper: ReturnType<typeof spawn>): Promise<void> => {
  const deadline = systemClock.monotonic() + 30_000;
  for (;;) {
    const health = await host.launcher.call("health", {}).catch(() => undefined);
    if (health?.ready) return;
    const over = !isAlive(keeper) || systemClock.monotonic() > deadline;
    if (over || (health && health.detail !== "starting")) {
      const log = await readFile(host.log, "utf8");
      throw new Error(`the supervisor does not serve: ${health?.detail ?? "no answer"}\n${log.slice(-2000)}`);
    }
    await systemClock.sleep(20);
  }
};
