import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type CellView,
  type ComputerSize,
  HoldfastError,
  supervisorMethods,
  type SupervisorMethods,
} from "@holdfast/contract";
import { createIds, createLogger, createRpcServer, type RpcHandlers, systemClock } from "@holdfast/kit";

interface PlayedCell {
  readonly cellId: string;
  readonly image: string;
  readonly policy: string;
  readonly size: ComputerSize;
  state: CellView["state"];
  warm: boolean;
}

/** A supervisor without a host: it says what it would have done, of cells that are only names. No agent answers in them. */
export interface PlayedSupervisor {
  readonly socket: string;
  /** What new cells are made of. */
  current: { image: string; policy: string };
  memory: { total_bytes: number; available_bytes: number; reserve_bytes: number; reclaims: boolean };
  readonly cells: Map<string, PlayedCell>;
  readonly volumes: Map<string, string>;
  /** Whose each is. */
  readonly snapshots: Map<string, string>;
  /** Each call, as `method id`; those that only ask are left out. */
  readonly did: string[];
  /** Called before each call; what it throws is the answer. */
  before: (method: string, computerId: string) => Promise<void> | void;
}

export const playSupervisor = async (context: Pick<TestContext, "after">): Promise<PlayedSupervisor> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-played-"));
  const newId = createIds(systemClock);
  const played: PlayedSupervisor = {
    socket: join(directory, "control.sock"),
    current: { image: "a".repeat(64), policy: "b".repeat(64) },
    memory: { total_bytes: 8e9, available_bytes: 6e9, reserve_bytes: 8e8, reclaims: true },
    cells: new Map(),
    volumes: new Map(),
    snapshots: new Map(),
    did: [],
    before: () => {},
  };
  const { cells, volumes, snapshots, did } = played;

  const view = (id: string, cell: PlayedCell): CellView => ({
    computer_id: id,
    cell_id: cell.cellId,
    state: cell.state,
    size: cell.size,
    started_at_ms: 0,
    lease_ends_in_ms: 600_000,
    warm: cell.warm,
    exit: null,
  });
  const viewOf = (id: string): CellView | null => {
    const cell = cells.get(id);
    return cell ? view(id, cell) : null;
  };
  const note = async (method: string, id: string): Promise<void> => {
    did.push(`${method} ${id}`);
    await played.before(method, id);
  };
  const set = (id: string, state: CellView["state"]): CellView | null => {
    const cell = cells.get(id);
    if (cell) cell.state = state;
    return viewOf(id);
  };

  const handlers: Partial<RpcHandlers<SupervisorMethods>> = {
    info: async () => ({
      version: "0.0.0",
      instance: "played",
      boot_id: "played",
      layers: [],
      pool: { total_bytes: 1e12, used_bytes: 0, growth_refused: false },
      memory: { ...played.memory },
      ...played.current,
    }),
    "volume.create": async ({ computer_id: id }) => {
      await note("volume.create", id);
      const image = volumes.get(id);
      volumes.set(id, image ?? played.current.image);
      return { created: image === undefined, image: image ?? played.current.image };
    },
    "volume.resize": async () => ({}),
    "volume.destroy": async ({ computer_id: id }) => {
      await note("volume.destroy", id);
      cells.delete(id);
      for (const [snapshot, of] of snapshots) if (of === id) snapshots.delete(snapshot);
      const destroyed = volumes.delete(id);
      return { destroyed, erased: { volumes: destroyed ? 1 : 0, snapshots: 0, archives: 0 } };
    },
    "volume.restore": async ({ computer_id: id, snapshot_id: snapshot }) => {
      await note("volume.restore", snapshot);
      return { restored: snapshots.get(snapshot) === id };
    },
    "snapshot.create": async ({ computer_id: id, snapshot_id: snapshot }) => {
      await note("snapshot.create", snapshot);
      const created = !snapshots.has(snapshot);
      snapshots.set(snapshot, id);
      return { created, sync_ms: 7, snapshot_us: 9000 };
    },
    "snapshot.delete": async ({ snapshot_id: snapshot }) => {
      await note("snapshot.delete", snapshot);
      return { deleted: snapshots.delete(snapshot) };
    },
    "snapshot.list": async () => ({
      snapshots: [...snapshots].map(([snapshot_id, computer_id]) => ({
        snapshot_id,
        computer_id,
        image: played.current.image,
      })),
    }),
    "cell.start": async ({ computer_id: id, size, warm }) => {
      await note(warm ? "cell.start warm" : "cell.start", id);
      const image = volumes.get(id);
      if (image === undefined) throw new HoldfastError("not_found", `there is no volume of ${id}`);
      const known = cells.get(id);
      const isStale =
        known?.warm && (known.policy !== played.current.policy || known.image !== played.current.image);
      if (known && !isStale) {
        known.warm &&= warm;
        known.state = "running";
        return { cell: view(id, known), started: false };
      }
      if (isStale) volumes.set(id, played.current.image);
      const cell: PlayedCell = {
        cellId: newId("cell"),
        policy: played.current.policy,
        image: volumes.get(id) ?? image,
        size,
        state: "running",
        warm,
      };
      cells.set(id, cell);
      return { cell: view(id, cell), started: true };
    },
    "cell.reclaim": async ({ computer_id: id }) => {
      await note("cell.reclaim", id);
      return { reclaimed_bytes: 0 };
    },
    "cell.freeze": async ({ computer_id: id }) => {
      await note("cell.freeze", id);
      return { cell: set(id, "frozen") };
    },
    "cell.thaw": async ({ computer_id: id }) => ({ cell: set(id, "running") }),
    "cell.stop": async ({ computer_id: id }) => {
      await note("cell.stop", id);
      return { stopped: cells.delete(id) };
    },
    "cell.list": async () => ({ cells: [...cells].map(([id, cell]) => view(id, cell)) }),
    "lease.renew": async ({ cells: wanted }) => ({
      missing: wanted
        .filter(({ computer_id, cell_id }) => cells.get(computer_id)?.cellId !== cell_id)
        .map(({ cell_id }) => cell_id),
    }),
    "usage.read": async () => ({ usage: null }),
    "events.wait": async ({ wait_ms }, signal) => {
      await systemClock.sleep(wait_ms, signal);
      return { next: 0, events: [] };
    },
  };
  const server = createRpcServer({
    methods: supervisorMethods,
    handlers: new Proxy(handlers, {
      get: (has, name: keyof SupervisorMethods) =>
        has[name] ?? (() => Promise.reject(new HoldfastError("unavailable", `nobody plays ${name}`))),
    }) as RpcHandlers<SupervisorMethods>,
    logger: createLogger({ program: "played", now: Date.now, level: "error" }),
  });
  await server.listen({ path: played.socket });
  context.after(async () => {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  });
  return played;
};
