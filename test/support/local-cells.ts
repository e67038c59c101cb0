import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { supervisorMethods } from "@holdfast/contract";
import { createIds, createLogger, createRpcServer, systemClock } from "@holdfast/kit";

const agentBinary =
  process.env["HOLDFAST_TEST_AGENT"] ??
  new URL("../../native/agent/target/x86_64-unknown-linux-gnu/debug/holdfast-agent", import.meta.url)
    .pathname;

type Cell = {
  cellId: string;
  child: ChildProcess;
  state: "running" | "frozen" | "exited";
  startedAtMs: number;
};

/** The supervisor's methods over agents that run on this host without a cell. */
export const startLocalCells = async () => {
  const root = await mkdtemp(join(tmpdir(), "holdfast-cells-"));
  const ids = createIds(systemClock);
  const volumes = new Map<string, "small" | "medium" | "large">();
  const cells = new Map<string, Cell>();
  let fail: string | undefined;
  const socketOf = (id: string): string => join(root, id, "control.sock");
  const events: { sequence: number; computer_id: string; cell_id: string; kind: "exited"; at_ms: number }[] =
    [];
  let wake = (): void => {};
  const view = (computerId: string, cell: Cell) => ({
    computer_id: computerId,
    cell_id: cell.cellId,
    state: cell.state,
    size: volumes.get(computerId) ?? ("small" as const),
    started_at_ms: cell.startedAtMs,
    lease_ends_in_ms: 600_000,
    exit: cell.state === "exited" ? { reason: "agent_ended" as const, at_ms: Date.now() } : null,
  });
  const kill = async (id: string): Promise<boolean> => {
    const cell = cells.get(id);
    if (!cell) return false;
    const ended = new Promise((resolve) => cell.child.once("exit", resolve));
    const running = cell.child.exitCode === null && cell.child.signalCode === null;
    cells.delete(id);
    cell.child.kill("SIGKILL");
    if (running) await ended;
    return true;
  };
  const server = createRpcServer({
    methods: supervisorMethods,
    logger: createLogger({ program: "cells", now: Date.now, level: "error" }),
    handlers: {
      info: () => Promise.reject(new Error("not here")),
      "volume.create": async ({ computer_id, size }) => {
        if (fail)
          throw new (await import("@holdfast/contract")).HoldfastError(fail as "host_full", "no room");
        const created = !volumes.has(computer_id);
        volumes.set(computer_id, size);
        await mkdir(join(root, computer_id, "state"), { recursive: true });
        return { created, image: "0".repeat(64) };
      },
      "volume.resize": ({ computer_id, size }) => {
        volumes.set(computer_id, size);
        return Promise.resolve({});
      },
      "volume.destroy": async ({ computer_id }) => {
        await kill(computer_id);
        await rm(join(root, computer_id), { recursive: true, force: true });
        return { destroyed: volumes.delete(computer_id) };
      },
      "volume.list": () =>
        Promise.resolve({
          volumes: [...volumes].map(([computer_id, size]) => ({ computer_id, size, image: "0" })),
        }),
      "cell.start": async ({ computer_id }) => {
        const known = cells.get(computer_id);
        if (known && known.state !== "exited") {
          known.child.kill("SIGCONT");
          known.state = "running";
          return { cell: view(computer_id, known), started: false };
        }
        const directory = join(root, computer_id);
        await rm(socketOf(computer_id), { force: true });
        await rm(join(directory, "ingress.sock"), { force: true });
        const child = spawn(
          agentBinary,
          [
            "cell",
            "--cgroup",
            "none",
            "--control",
            socketOf(computer_id),
            "--ingress",
            join(directory, "ingress.sock"),
            "--state",
            join(directory, "state"),
          ],
          { stdio: ["ignore", "ignore", "inherit"] },
        );
        const cell: Cell = { cellId: ids("cell"), child, state: "running", startedAtMs: Date.now() };
        cells.set(computer_id, cell);
        child.once("exit", () => {
          if (cells.get(computer_id) !== cell) return;
          cell.state = "exited";
          events.push({
            sequence: events.length + 1,
            computer_id,
            cell_id: cell.cellId,
            kind: "exited",
            at_ms: Date.now(),
          });
          wake();
        });
        await untilListening(socketOf(computer_id));
        return { cell: view(computer_id, cell), started: true };
      },
      "cell.freeze": ({ computer_id }) => {
        const cell = cells.get(computer_id);
        if (cell && cell.state !== "exited") {
          cell.child.kill("SIGSTOP");
          cell.state = "frozen";
        }
        return Promise.resolve({ cell: cell ? view(computer_id, cell) : null });
      },
      "cell.thaw": ({ computer_id }) => {
        const cell = cells.get(computer_id);
        if (cell && cell.state === "frozen") {
          cell.child.kill("SIGCONT");
          cell.state = "running";
        }
        return Promise.resolve({ cell: cell ? view(computer_id, cell) : null });
      },
      "cell.stop": async ({ computer_id }) => ({ stopped: await kill(computer_id) }),
      "cell.list": () => Promise.resolve({ cells: [...cells].map(([id, cell]) => view(id, cell)) }),
      "lease.renew": ({ cells: leased }) =>
        Promise.resolve({
          missing: leased.flatMap(({ computer_id, cell_id }) =>
            cells.get(computer_id)?.cellId === cell_id ? [] : [cell_id],
          ),
        }),
      "usage.read": () => Promise.resolve({ usage: [] }),
      "events.wait": async ({ after, wait_ms }, signal) => {
        if (events.length <= after)
          await Promise.race([
            new Promise<void>((resolve) => {
              wake = resolve;
            }),
            systemClock.sleep(wait_ms, signal).catch(() => {}),
          ]);
        return { next: events.length, events: events.slice(after) };
      },
    },
  });
  const path = join(root, "supervisor.sock");
  await server.listen({ path });
  return {
    path,
    socketOf,
    cells,
    volumes,
    failWith: (code: string | undefined) => {
      fail = code;
    },
    stop: async () => {
      await server.close();
      for (const id of cells.keys()) await kill(id);
      await rm(root, { recursive: true, force: true });
    },
  };
};

const untilListening = async (path: string): Promise<void> => {
  for (let tries = 0; tries < 500; tries += 1) {
    const up = await new Promise<boolean>((resolve) => {
      const socket = connect({ path }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (up) return;
    await systemClock.sleep(5);
  }
  throw new Error("the agent did not listen");
};
