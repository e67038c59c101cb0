import { z } from "zod";

/**
 * What an agent says, as the host accepts it. Everything is bounded: the sender is hostile. Unknown fields are dropped, so a newer
 * agent may add some. Shapes and order of calls: `native/agent/PROTOCOL.md`.
 */
const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const shortText = z.string().max(256);
const pathText = z.string().max(4096);

export const agentHello = z.object({
  protocol: z.number().int().min(1).max(1000),
  oldest: z.number().int().min(1).max(1000),
  agent: z.string().max(64),
  features: z.array(z.string().max(64)).max(64),
  boot: z.string().regex(/^[0-9a-f]{32}$/),
});

export const agentErrorCode = z.enum([
  "invalid_frame",
  "unsupported_protocol",
  "unknown_method",
  "invalid_argument",
  "not_found",
  "already_exists",
  "not_a_directory",
  "is_a_directory",
  "not_regular_file",
  "not_empty",
  "too_large",
  "permission_denied",
  "no_space",
  "process_limit",
  "process_ended",
  "no_pty",
  "spawn_failed",
  "match_failed",
  "version_mismatch",
  "refused_entry",
  "stale_revision",
  "shutting_down",
  "connection_refused",
  "limit_reached",
  "timed_out",
  "internal",
]);

type AgentDetails = Readonly<Record<string, string | number | boolean>>;
const mostDetails = 32;

/** By hand: a record's schema would judge, and complain of, each of a hundred thousand. */
const isDetails = (value: unknown): value is AgentDetails => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= mostDetails &&
    entries.every(
      ([name, detail]: [string, unknown]) =>
        name.length <= 64 &&
        (typeof detail === "string"
          ? detail.length <= 1000
          : typeof detail === "number" || typeof detail === "boolean"),
    )
  );
};

export const agentError = z.object({
  code: agentErrorCode.catch("internal"),
  message: z.string().max(2000),
  details: z.custom<AgentDetails>(isDetails, `at most ${mostDetails} short details`).optional(),
});

export const agentInfo = z.object({
  agent: z.string().max(64),
  boot: z.string().max(64),
  started_at_ms: count,
  processes: count,
  services: count,
});

/** How a process ended. `lost`: the cell ended before its exit could be seen. */
export const agentExit = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.number().int().min(0).max(255) }),
  z.object({ kind: z.literal("signaled"), signal: z.number().int().min(1).max(64) }),
  z.object({ kind: z.literal("lost") }),
]);

export const agentProcessState = z.object({
  id: z.string().max(64),
  existed: z.boolean().optional(),
  pid: count.nullable(),
  command: z.string().max(4096),
  state: z.enum(["running", "ended"]),
  exit: agentExit.nullable(),
  timed_out: z.boolean(),
  out_of_memory: z.boolean(),
  background: z.boolean(),
  pty: z.boolean(),
  stdin_open: z.boolean(),
  started_at_ms: count,
  ended_at_ms: count.nullable(),
  output_bytes: count,
  dropped_bytes: count,
});

export const agentProcessList = z.object({ processes: z.array(agentProcessState).max(1000) });

export const agentRunResult = z.object({
  process: agentProcessState,
  existed: z.boolean(),
  next_cursor: count,
  dropped_bytes: count,
  complete: z.boolean(),
});

export const agentOutputHead = z.object({
  first_cursor: count,
  next_cursor: count,
  dropped_bytes: count,
  ended: z.boolean(),
});

export const agentServiceState = z.object({
  id: z.string().max(64),
  name: shortText,
  state: z.enum(["stopped", "waiting", "starting", "ready", "unhealthy", "backoff", "stopping", "failed"]),
  reason: z.string().max(1000).nullable(),
  pid: count.nullable(),
  /** In a row: none of the runs between them lasted a minute. */
  restarts: count,
  exit: agentExit.nullable(),
  started_at_ms: count.nullable(),
  ready_at_ms: count.nullable(),
  next_start_at_ms: count.nullable(),
  output_bytes: count,
});

export const agentServiceList = z.object({ revision: count, services: z.array(agentServiceState).max(64) });

export const agentFileEntry = z.object({
  path: pathText,
  name: pathText,
  kind: z.enum(["file", "directory", "link", "fifo", "socket", "device", "other"]),
  size_bytes: count,
  mode: z.number().int().min(0).max(0o7777),
  uid: count,
  gid: count,
  modified_at_ms: z.number(),
  target: pathText.nullable(),
  version: z.string().max(128),
});

export const agentFileList = z.object({
  entries: z.array(agentFileEntry).max(1000),
  next: pathText.nullable(),
});
export const agentFileHead = z.object({ file: agentFileEntry, offset: count, length: count });
export const agentFileEdit = z.object({ file: agentFileEntry, replaced: count });
export const agentFileEvent = z.object({
  type: z.enum(["created", "changed", "deleted", "moved", "overflow"]),
  path: pathText,
});
export const agentCounted = z.object({ entries: count, bytes: count });
export const agentPortList = z.object({
  ports: z
    .array(
      z.object({
        port: z.number().int().min(1).max(65535),
        address: z.string().max(64),
        protocol: z.enum(["tcp", "udp"]),
        process_id: z.string().max(64).nullable(),
      }),
    )
    .max(1024),
});
export const agentUsage = z.object({
  processes: count,
  disk: z.object({ total_bytes: count, free_bytes: count, total_files: count, free_files: count }),
  load: z.number().min(0),
});

export type AgentHello = z.output<typeof agentHello>;
export type AgentErrorCode = z.output<typeof agentErrorCode>;
export type AgentExit = z.output<typeof agentExit>;
export type AgentProcessState = z.output<typeof agentProcessState>;
export type AgentServiceState = z.output<typeof agentServiceState>;
export type AgentFileEntry = z.output<typeof agentFileEntry>;
