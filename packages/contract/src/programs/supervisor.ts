import { z } from "zod";
import { computerSizeNames } from "../limits.ts";
import { idSchema } from "../ids.ts";

/**
 * What control may ask of the supervisor, and all of it: ids, enumerations and numbers, never a path, argument vector, URL or mount
 * option. `packages/kit` carries it (`rpc`). Every method is idempotent: the reconciler repeats it until it holds.
 */
const computerId = idSchema("computer");
const cellId = idSchema("cell");
const snapshotId = idSchema("snapshot");
const size = z.enum(computerSizeNames);
const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const milliseconds = z
  .number()
  .int()
  .nonnegative()
  .max(24 * 3600 * 1000);

export const cellState = z.enum(["running", "frozen", "exited"]);

export const cellView = z.object({
  computer_id: computerId,
  /** New for each start. */
  cell_id: cellId,
  state: cellState,
  size,
  started_at_ms: count,
  lease_ends_in_ms: count,
  /** Nobody has started it without `warm` yet. */
  warm: z.boolean().default(false),
  exit: z
    .object({
      reason: z.enum(["stopped", "agent_ended", "out_of_memory", "killed", "start_failed"]),
      at_ms: count,
    })
    .nullable(),
});

export const layerView = z.object({
  name: z.string(),
  proven: z.boolean(),
  detail: z.string(),
  remedy: z.string(),
});

export const supervisorMethods = {
  info: {
    params: z.object({}),
    result: z.object({
      version: z.string(),
      instance: z.string(),
      boot_id: z.string(),
      /** Digest of the image that new computers get. */
      image: z.string(),
      layers: z.array(layerView),
      pool: z.object({ total_bytes: count, used_bytes: count, growth_refused: z.boolean() }),
      memory: z.object({
        total_bytes: count,
        available_bytes: count,
        /** Kept for the host and our programs; below it no cell is started. */
        reserve_bytes: count,
        /** Whether memory of frozen cells can be taken back. */
        reclaims: z.boolean(),
      }),
      /** Digest of policy and agent: a cell started under another one is not handed out. */
      policy: z.string(),
    }),
  },
  /** Makes the volume from the current image. Result says whether this call made it. */
  "volume.create": {
    params: z.object({ computer_id: computerId, size }),
    result: z.object({ created: z.boolean(), image: z.string() }),
  },
  /** Changes the quotas; a running cell gets the new limits at once. */
  "volume.resize": { params: z.object({ computer_id: computerId, size }), result: z.object({}) },
  /** Stops the cell if there is one and deletes everything of the computer: volume, snapshots, archive. Says what was erased. */
  "volume.destroy": {
    params: z.object({ computer_id: computerId }),
    result: z.object({
      destroyed: z.boolean(),
      erased: z.object({ volumes: count, snapshots: count, archives: count }),
    }),
  },
  "volume.list": {
    params: z.object({}),
    result: z.object({
      volumes: z.array(z.object({ computer_id: computerId, size, image: z.string(), archived: z.boolean() })),
    }),
  },
  /** As `volume.create`, with the files of a snapshot. The two share what neither has changed. */
  "volume.fork": {
    params: z.object({ computer_id: computerId, size, snapshot_id: snapshotId }),
    result: z.object({ created: z.boolean(), image: z.string() }),
  },
  /**
   * Puts the files of a snapshot in place of the volume's, whole or not at all. `wrong_state` while there is a cell. `restore_id` tells one
   * restoring from another: the same again does nothing.
   */
  "volume.restore": {
    params: z.object({ computer_id: computerId, snapshot_id: snapshotId, restore_id: idSchema("snapshot") }),
    result: z.object({ restored: z.boolean() }),
  },
  /**
   * Syncs the computer's volume and takes a read-only snapshot of it, in one step of the file system: nothing is frozen. Idempotent by id.
   * `computer_failed` with reason `nested_subvolumes`.
   */
  "snapshot.create": {
    params: z.object({ computer_id: computerId, snapshot_id: snapshotId }),
    result: z.object({ created: z.boolean(), sync_ms: count, snapshot_us: count }),
  },
  "snapshot.delete": {
    params: z.object({ snapshot_id: snapshotId }),
    result: z.object({ deleted: z.boolean() }),
  },
  "snapshot.list": {
    params: z.object({}),
    result: z.object({
      snapshots: z.array(z.object({ snapshot_id: snapshotId, computer_id: computerId, image: z.string() })),
    }),
  },
  /**
   * Packing a stopped computer into one file. `open` makes an empty place for it, which a throwaway cell is given as a tree to write to;
   * `seal` makes that read-only and durable and deletes the volume; `drop` takes a place away that was not sealed. A sealed one stays until
   * `volume.unpacked`.
   */
  "archive.open": { params: z.object({ computer_id: computerId }), result: z.object({}) },
  "archive.seal": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ sealed: z.boolean() }),
  },
  "archive.drop": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ dropped: z.boolean() }),
  },
  /** Makes an empty volume beside the sealed archive. Until `archive.unpacked` the archive is what counts: after a crash it is begun anew. */
  "archive.unpack": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ image: z.string() }),
  },
  /** What was unpacked is the volume now, and the archive is deleted. */
  "archive.unpacked": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ done: z.boolean() }),
  },
  /**
   * Starts a cell on the volume, or thaws a frozen one. Resolves when the agent's sockets accept connections. `trees` are shown in the cell
   * below `/trees/<name>`: `work`, `root` (as a cell of it would see it) and `changes` (what it has over its image) of a snapshot or of the
   * volume of a computer that has no cell, all read-only; or an archive's place, which may be written to until it is sealed. Only for cells
   * that are destroyed afterwards. `warm`: nobody waits for it, so it gets little of the processor until it is started without.
   */
  "cell.start": {
    params: z.object({
      computer_id: computerId,
      size,
      lease_ms: milliseconds,
      trees: z
        .array(
          z.object({
            name: z.enum(["a", "b", "archive"]),
            source: z.union([
              z.object({ snapshot_id: snapshotId }),
              z.object({ volume_of: computerId }),
              z.object({ archive_of: computerId }),
            ]),
          }),
        )
        .max(3)
        .default([]),
      warm: z.boolean().default(false),
    }),
    result: z.object({ cell: cellView, started: z.boolean() }),
  },
  /** Takes memory of a frozen cell back, where the host can. */
  "cell.reclaim": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ reclaimed_bytes: count }),
  },
  "cell.freeze": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ cell: cellView.nullable() }),
  },
  /** `ending`: only so that it can end well. Then it is thawed also on a host that is short of memory, which gets its memory back by that. */
  "cell.thaw": {
    params: z.object({
      computer_id: computerId,
      lease_ms: milliseconds,
      ending: z.boolean().default(false),
    }),
    result: z.object({ cell: cellView.nullable() }),
  },
  /** Ends every process of the cell and takes it down. Control asks the agent for a graceful end first. */
  "cell.stop": { params: z.object({ computer_id: computerId }), result: z.object({ stopped: z.boolean() }) },
  "cell.list": { params: z.object({}), result: z.object({ cells: z.array(cellView) }) },
  /** Unknown or exited cells come back in `missing`. A cell whose lease ends is frozen. */
  "lease.renew": {
    params: z.object({
      cells: z.array(z.object({ computer_id: computerId, cell_id: cellId })).max(1000),
      lease_ms: milliseconds,
    }),
    result: z.object({ missing: z.array(cellId) }),
  },
  /** Starts no program, so that it is answered also under a fork bomb. Without a cell no processor, memory or process is used; null: no volume. */
  "usage.read": {
    params: z.object({ computer_id: computerId }),
    result: z.object({
      usage: z
        .object({
          cpu_ms: count,
          memory_bytes: count,
          memory_limit_bytes: count,
          pids: count,
          pids_limit: count,
          disk_bytes: count,
          disk_limit_bytes: count,
          oom_kills: count,
          refused_forks: count,
        })
        .nullable(),
    }),
  },
  /** Waits for events after `after` (0: all still kept). Only hints: control reads `cell.list` for the truth. */
  "events.wait": {
    params: z.object({ after: count, wait_ms: z.number().int().min(0).max(50_000) }),
    result: z.object({
      next: count,
      events: z.array(
        z.object({
          sequence: count,
          computer_id: computerId,
          cell_id: cellId,
          kind: z.enum(["started", "exited", "frozen", "thawed", "lease_ended", "out_of_memory"]),
          at_ms: count,
        }),
      ),
    }),
  },
} as const;

export type SupervisorMethods = typeof supervisorMethods;
export type CellView = z.output<typeof cellView>;
export type LayerView = z.output<typeof layerView>;
