import { computerSizes, HoldfastError, type LayerView, type SupervisorMethods } from "@holdfast/contract";
import type { RpcHandlers } from "@holdfast/kit";
import type { Cells } from "./cells/index.ts";
import type { CellEvents } from "./cells/events.ts";
import { reserveBytes, type HostMemory } from "./cells/admission.ts";
import type { Volumes } from "./volumes/index.ts";

export interface Serving {
  readonly cells: Cells;
  readonly volumes: Volumes;
  readonly events: CellEvents;
  readonly layers: readonly LayerView[];
  readonly readMemory: () => Promise<HostMemory>;
  readonly about: {
    readonly version: string;
    readonly instance: string;
    readonly bootId: string;
    readonly image: string;
    /** Digest of policy and agent. */
    readonly policy: string;
    /** Whether memory of frozen cells can be taken back. */
    readonly reclaims: boolean;
  };
}

/** What control may ask. `serving` throws `unavailable` until every layer is proven and running cells are adopted. */
export const createHandlers = (serving: () => Serving): RpcHandlers<SupervisorMethods> => ({
  info: async () => {
    const { about, layers, volumes, readMemory } = serving();
    const [space, memory] = await Promise.all([volumes.space(), readMemory()]);
    return {
      version: about.version,
      instance: about.instance,
      boot_id: about.bootId,
      image: about.image,
      layers: [...layers],
      pool: {
        total_bytes: space.totalBytes,
        used_bytes: space.usedBytes,
        growth_refused: space.growthRefused,
      },
      memory: {
        total_bytes: memory.totalBytes,
        available_bytes: memory.availableBytes,
        reserve_bytes: reserveBytes(memory.totalBytes),
        reclaims: about.reclaims,
      },
      policy: about.policy,
    };
  },
  "volume.create": ({ computer_id, size }) => serving().volumes.create(computer_id, size),
  "volume.resize": async ({ computer_id, size }) => {
    const { cells, volumes } = serving();
    volumes.get(computer_id);
    await cells.resize(computer_id, size);
    await volumes.resize(computer_id, size);
    return {};
  },
  "volume.destroy": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    await cells.forget(computer_id);
    return volumes.destroy(computer_id);
  },
  "volume.list": async () => ({
    volumes: serving()
      .volumes.list()
      .map(({ computerId, size, image }) => ({ computer_id: computerId, size, image, archived: false })),
  }),
  "volume.fork": async () => refuseUntilReady("it forks no volumes"),
  "volume.restore": async () => refuseUntilReady("it restores no volumes"),
  "snapshot.create": async () => refuseUntilReady("it takes no snapshots"),
  "snapshot.delete": async () => refuseUntilReady("it takes no snapshots"),
  "snapshot.list": async () => ({ snapshots: [] }),
  "archive.open": async () => refuseUntilReady("it keeps no archives"),
  "archive.seal": async () => refuseUntilReady("it keeps no archives"),
  "archive.drop": async () => refuseUntilReady("it keeps no archives"),
  "archive.unpack": async () => refuseUntilReady("it keeps no archives"),
  "archive.unpacked": async () => refuseUntilReady("it keeps no archives"),
  "cell.start": ({ computer_id, size, lease_ms, warm }) =>
    serving().cells.start(computer_id, size, lease_ms, { warm }),
  "cell.reclaim": async ({ computer_id }) => ({
    reclaimed_bytes: await serving().cells.reclaim(computer_id),
  }),
  "cell.freeze": async ({ computer_id }) => ({ cell: await serving().cells.freeze(computer_id) }),
  "cell.thaw": async ({ computer_id, lease_ms }) => ({
    cell: await serving().cells.thaw(computer_id, lease_ms),
  }),
  "cell.stop": async ({ computer_id }) => ({ stopped: await serving().cells.stop(computer_id) }),
  "cell.list": async () => ({ cells: serving().cells.list() }),
  "lease.renew": async ({ cells, lease_ms }) => ({
    missing: [...(await serving().cells.renew(cells, lease_ms))],
  }),
  "usage.read": async ({ computer_id }) => ({ usage: await readUsage(serving(), computer_id) }),
  "events.wait": async ({ after, wait_ms }, signal) => {
    const { next, events } = await serving().events.wait(after, wait_ms, signal);
    return { next, events: [...events] };
  },
});

export const refuseUntilReady = (detail: string): never => {
  throw new HoldfastError("unavailable", `the supervisor does not serve yet: ${detail}`);
};

const readUsage = async ({ cells, volumes }: Serving, computerId: string) => {
  const disk = await volumes.usage(computerId);
  if (!disk) return null;
  const used = await cells.usage(computerId);
  const { memory_bytes, pids } = computerSizes[volumes.get(computerId).size];
  return {
    cpu_ms: used?.cpuMs ?? 0,
    memory_bytes: used?.memoryBytes ?? 0,
    memory_limit_bytes: memory_bytes,
    pids: used?.pids ?? 0,
    pids_limit: pids,
    disk_bytes: disk.bytes,
    disk_limit_bytes: disk.limitBytes,
    oom_kills: used?.oomKills ?? 0,
    refused_forks: used?.refusedForks ?? 0,
  };
};
