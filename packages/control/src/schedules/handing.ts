import type { AgentProcessSpec } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import type { ProcessRow } from "../store/processes.ts";
import { type Handed, type RunRow, startRun } from "../store/runs.ts";
import { type CellParts, commandText, seenOf, withAgent, withSeen } from "../work/index.ts";
import type { EndingParts } from "./ending.ts";
import { runEvent } from "./events.ts";

export type HandingParts = EndingParts & CellParts;

export interface HandedOver {
  readonly on: Computer;
  /** Undefined: by then nobody wanted it any more, and what was handed over is to be ended. */
  readonly started: { readonly run: RunRow; readonly row: ProcessRow } | undefined;
}

/**
 * Hands an attempt's process over to its computer and writes down that it runs, in one transaction with the row that lists it. Again, after a
 * crash at any line, it is the same: an agent runs an id once.
 */
export const handOver = async (
  parts: HandingParts,
  run: RunRow,
  spec: AgentProcessSpec,
  where: { readonly computer: Computer; readonly woke: RunRow["woke"]; readonly owner: string },
  signal: AbortSignal,
): Promise<HandedOver> => {
  const { starts, keeper, events, clock, crashPoint } = parts;
  crashPoint("run-before-started");
  const { state, on } = await withAgent(
    parts,
    where.computer,
    signal,
    async (agent, awake) => ({ state: await agent.plain("processes.start", spec, { signal }), on: awake }),
    { repeatable: true },
  );
  crashPoint("run-handed-over");
  const nowMs = clock.now();
  const command = commandText("shell" in spec ? { command: spec.shell } : { argv: spec.argv });
  const handed: Handed = { computerId: on.id, cellId: on.cellId, command, woke: where.woke, nowMs };
  const started = await starts.run(async (transaction) => {
    const now = await startRun(transaction, run, handed);
    if (!now) return undefined;
    const row = listed(now, handed);
    const seen = seenOf(state, on.cellId, nowMs);
    await Promise.all([
      keeper.written(transaction, on, row, seen).execute(),
      run.attempt === 1 && events.append(transaction, runEvent(now, where.owner, "started")),
    ]);
    return { run: now, row: withSeen(row, seen) };
  });
  crashPoint("run-started");
  return { on, started };
};

/** The process's row as `startRun` has written it. */
const listed = (run: RunRow, handed: Handed): ProcessRow => ({
  id: run.process_id ?? "",
  computer_id: handed.computerId,
  cell_id: handed.cellId,
  operation_id: run.id,
  principal_id: run.principal_id,
  command: handed.command,
  terminal: false,
  stdin_open: false,
  state: "starting",
  exit: null,
  timed_out: false,
  out_of_memory: false,
  background: false,
  started_at_ms: handed.nowMs,
  ended_at_ms: null,
  output_bytes: 0,
  dropped_bytes: 0,
  keep_awake: false,
});
