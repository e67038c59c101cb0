import type { AgentExit, AgentProcessState, OperationOutput } from "@holdfast/contract";
import { timestamp, timestampOrNull } from "../../lib/timestamp.ts";
import { type ProcessRow, type ProcessSeen, seenColumns } from "../../store/processes.ts";
import type { StoredExit } from "../../store/tables/computers.ts";
import { signalName } from "./signals.ts";

export type ProcessView = OperationOutput<"process.get">;

/** A process as callers see it: what was written down when it was started, and what was seen of it last. */
export const processView = (row: ProcessRow): ProcessView => ({
  id: row.id,
  computer: row.computer_id,
  command: row.command,
  state: row.state,
  exit: exitView(row.exit),
  exit_code: exitCode(row.exit),
  timed_out: row.timed_out,
  out_of_memory: row.out_of_memory,
  background: row.background,
  terminal: row.terminal,
  stdin_open: row.stdin_open,
  started_by: row.principal_id,
  started_at: timestamp(row.started_at_ms),
  ended_at: timestampOrNull(row.ended_at_ms),
  output_bytes: row.output_bytes,
  dropped_bytes: row.dropped_bytes,
});

export const exitView = (exit: StoredExit | AgentExit | null): ProcessView["exit"] =>
  exit?.kind === "signaled" ? { ...exit, name: signalName(exit.signal) } : exit;

/** As a shell has it: 128 + signal. Never 0 for something that did not exit by itself. */
export const exitCode = (exit: StoredExit | null): number | null => {
  if (exit === null || exit.kind === "lost") return null;
  return exit.kind === "exited" ? exit.code : 128 + exit.signal;
};

/** What the agent says, as it is stored. The agent's clock is the host's; its times are hostile all the same and only shown. */
export const seenOf = (state: AgentProcessState, cellId: string | null, nowMs: number): ProcessSeen => {
  const ended = state.state === "ended";
  return {
    cellId,
    state: state.state,
    exit: ended ? (state.exit ?? { kind: "lost" }) : null,
    timedOut: state.timed_out,
    outOfMemory: state.out_of_memory,
    background: state.background,
    stdinOpen: state.stdin_open && !ended,
    endedAtMs: ended ? Math.min(state.ended_at_ms ?? nowMs, nowMs) : null,
    outputBytes: state.output_bytes,
    droppedBytes: state.dropped_bytes,
  };
};

/** The row as it will be once `seen` is written. */
export const withSeen = (row: ProcessRow, seen: ProcessSeen): ProcessRow =>
  row.state === "ended" ? row : { ...row, ...seenColumns(seen) };
