import { z } from "zod";
import { computerSizeNames } from "../limits.ts";
import { idSchema } from "../ids.ts";

/**
 * What control may ask of the supervisor, and all of it: ids, enumerations and numbers, never a path, argument vector, URL or mount
 * option. `packages/kit` carries it (`rpc`). Every method is idempotent: the reconciler repeats it until it holds.
 */
const computerId = idSchema("computer");
const cellId = idSchema("cell");
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
      memory: z.object({ total_bytes: count, available_bytes: count }),
    }),
  },
  /** Makes the volume from the current image. Result says whether this call made it. */
  "volume.create": {
    params: z.object({ computer_id: computerId, size }),
    result: z.object({ created: z.boolean(), image: z.string() }),
  },
  /** Changes the quotas; a running cell gets the new limits at once. */
  "volume.resize": { params: z.object({ computer_id: computerId, size }), result: z.object({}) },
  /** Stops the cell if there is one and deletes everything of the computer. */
  "volume.destroy": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ destroyed: z.boolean() }),
  },
  "volume.list": {
    params: z.object({}),
    result: z.object({ volumes: z.array(z.object({ computer_id: computerId, size, image: z.string() })) }),
  },
  /** Starts a cell on the volume, or thaws a frozen one. Resolves when the agent's sockets accept connections. */
  "cell.start": {
    params: z.object({ computer_id: computerId, size, lease_ms: milliseconds }),
    result: z.object({ cell: cellView, started: z.boolean() }),
  },
  "cell.freeze": {
    params: z.object({ computer_id: computerId }),
    result: z.object({ cell: cellView.nullable() }),
  },
  "cell.thaw": {
    params: z.object({ computer_id: computerId, lease_ms: milliseconds }),
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
