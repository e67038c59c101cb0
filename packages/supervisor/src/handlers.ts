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
    volumes.known(computer_id);
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
      .map(({ computerId, size, image, archived }) => ({ computer_id: computerId, size, image, archived })),
  }),
  "volume.fork": ({ computer_id, size, snapshot_id }) =>
    serving().volumes.fork(computer_id, size, snapshot_id),
  "volume.restore": async ({ computer_id, snapshot_id, restore_id }) => {
    const { cells, volumes } = serving();
    const restored = await cells.without(computer_id, () =>
      volumes.restore(computer_id, snapshot_id, restore_id),
    );
    return { restored };
  },
  "snapshot.create": async ({ computer_id, snapshot_id }) => {
    const { created, syncMs, snapshotUs } = await serving().volumes.snapshots.create(
      computer_id,
      snapshot_id,
    );
    return { created, sync_ms: syncMs, snapshot_us: snapshotUs };
  },
  "snapshot.delete": async ({ snapshot_id }) => ({
    deleted: await serving().volumes.snapshots.delete(snapshot_id),
  }),
  "snapshot.list": async () => ({
    snapshots: serving()
      .volumes.snapshots.list()
      .map(({ snapshotId, computerId, image }) => ({
        snapshot_id: snapshotId,
        computer_id: computerId,
        image,
      })),
  }),
  "archive.open": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    await cells.without(computer_id, () => volumes.archives.open(computer_id));
    return {};
  },
  "archive.seal": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    if (cells.showsArchive(computer_id))
      throw new HoldfastError("wrong_state", "a cell still has the place of this archive; destroy it first", {
        state: "running",
      });
    return { sealed: await cells.without(computer_id, () => volumes.archives.seal(computer_id)) };
  },
  "archive.drop": async ({ computer_id }) => ({
    dropped: await serving().volumes.archives.drop(computer_id),
  }),
  "archive.unpack": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    // A cell of an archived computer is one that was unpacking it for somebody who is gone.
    if (volumes.isArchived(computer_id)) await cells.stop(computer_id);
    return cells.without(computer_id, () => volumes.archives.unpack(computer_id));
  },
  "archive.unpacked": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    return { done: await cells.without(computer_id, () => volumes.archives.unpacked(computer_id)) };
  },
  "cell.start": ({ computer_id, size, lease_ms, warm, trees }) =>
    serving().cells.start(computer_id, size, lease_ms, { warm, trees }),
  "cell.reclaim": async ({ computer_id }) => ({
    reclaimed_bytes: await serving().cells.reclaim(computer_id),
  }),
  "cell.freeze": async ({ computer_id }) => ({ cell: await serving().cells.freeze(computer_id) }),
  "cell.thaw": async ({ computer_id, lease_ms, ending }) => ({
    cell: await serving().cells.thaw(computer_id, lease_ms, ending),
  }),
  "cell.stop": async ({ computer_id }) => {
    const { cells, volumes } = serving();
    const stopped = await cells.stop(computer_id);
    // A computer that was stopped is on the disk, whatever happens to the host next.
    if (stopped) await volumes.sync();
    return { stopped };
  },
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
  const { memory_bytes, pids } = computerSizes[volumes.known(computerId).size];
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
