import { type AgentProcessState, limits } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import { AgentFault, type Agents } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import type { EventLog, NewEvent } from "../../domain/events.ts";
import { eventValues } from "../../store/events.ts";
import {
  forgetUnstarted,
  listUnended,
  loseProcesses,
  observeProcess,
  type ProcessRow,
  type ProcessSeen,
  setCell,
} from "../../store/processes.ts";
import type { Database, Store, Transaction } from "../../store/transaction.ts";
import { exitCode, seenOf, withSeen } from "./view.ts";

/** Long waits held open for ends: for each computer, and over all. What is beyond is found by looking from time to time. */
const waitsPerComputer = 32;
const waitsOverAll = 512;
const waitMs = 50_000;

export interface KeeperParts {
  readonly store: Store;
  readonly agents: Agents;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  /** Operations that are being worked on. */
  readonly running: ReadonlySet<string>;
}

/**
 * Keeps the rows of processes true: writes down each end once, with the event that tells of it, whoever saw it first. Output and exit are on
 * the computer's disk, so nothing is lost when control restarts; it reads them again.
 */
export class ProcessKeeper {
  readonly #parts: KeeperParts;
  readonly #waits = new Map<string, string>();
  readonly #abort = new AbortController();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** The statement that writes down what was seen and tells of it: goes with the commit that answers for it, or stands alone. */
  written(db: Database, computer: Computer, row: ProcessRow, seen: ProcessSeen) {
    const now = withSeen(row, seen);
    const kinds = [
      ...(row.state === "starting" ? (["started"] as const) : []),
      ...(now.state === "ended" && row.state !== "ended" ? (["ended"] as const) : []),
    ];
    const atMs = this.#parts.clock.now();
    const told = kinds.map((kind) => eventValues(processEvent(computer, now, kind), atMs));
    return observeProcess(db, row.id, seen, told);
  }

  /** Writes what the agent just said of a process, if it is news. */
  async observe(computer: Computer, row: ProcessRow, state: AgentProcessState): Promise<ProcessRow> {
    const { store, clock, crashPoint } = this.#parts;
    const seen = seenOf(state, computer.cellId, clock.now());
    const now = withSeen(row, seen);
    if (row.state === "ended" || (row.state === seen.state && seen.state === "running")) return now;
    crashPoint("process-before-observed");
    await this.written(store.db, computer, row, seen).execute();
    crashPoint("process-observed");
    return now;
  }

  /**
   * Compares all that had not ended with the agent's list. What the agent knows nothing of is `lost`, unless it surely never ran: the agent
   * of the cell that it was admitted for would know it. Then it is taken back, and the same request may run it.
   */
  async compare(computer: Computer): Promise<void> {
    const rows = (await listUnended(this.#parts.store.db, computer.id)).filter(
      // Between admission and outcome it is on its way: not lost, however long the computer takes to wake.
      (row) => !this.#parts.running.has(row.operation_id),
    );
    if (rows.length === 0) return;
    const { processes } = await this.#parts.agents.of(computer.id).plain("processes.list", {});
    const known = new Map(processes.map((state) => [state.id, state]));
    for (const row of rows) {
      const state = known.get(row.id);
      if (state) {
        const now = await this.observe(computer, row, state);
        if (now.state === "running") this.watch(computer, now);
      } else if (
        row.state === "starting" &&
        row.cell_id === computer.cellId &&
        wouldKnow(processes, row) &&
        (await forgetUnstarted(this.#parts.store.db, row.id))
      ) {
        this.#parts.logger.info("a process was never handed over", { process: row.id });
      } else if (row.cell_id !== computer.cellId || row.state === "starting") {
        await this.#lose(computer, [row]);
      }
    }
  }

  /** The cell is gone with all that ran in it. */
  async gone(transaction: Transaction, computer: Computer): Promise<void> {
    const except = [...this.#parts.running];
    // It may have been handed to this cell, so should control end now, it must not be taken for one that never had a cell.
    if (computer.cellId !== null) await setCell(transaction, computer.id, computer.cellId, except);
    const lost = await loseProcesses(transaction, computer.id, {
      except,
      nowMs: this.#parts.clock.now(),
    });
    if (lost.length > 0)
      await this.#parts.events.append(
        transaction,
        ...lost.map((row) => processEvent(computer, row, "ended")),
      );
  }

  /** What it ran in is over, and nobody waits for it any more. */
  async lost(transaction: Transaction, computer: Computer, row: ProcessRow): Promise<void> {
    await this.written(transaction, computer, row, lostOf(row, this.#parts.clock.now())).execute();
  }

  /** Waits for the end of a process that goes on by itself, so that it is told of when it happens. */
  watch(computer: Computer, row: ProcessRow): void {
    if (this.#waits.has(row.id) || this.#waits.size >= waitsOverAll) return;
    const here = [...this.#waits.values()].filter((id) => id === computer.id).length;
    if (here >= waitsPerComputer) return;
    this.#waits.set(row.id, computer.id);
    void this.#wait(computer, row).finally(() => this.#waits.delete(row.id));
  }

  stop(): void {
    this.#abort.abort(new Error("control is shutting down"));
  }

  async #wait(computer: Computer, row: ProcessRow): Promise<void> {
    const { signal } = this.#abort;
    try {
      while (!signal.aborted) {
        const state = await this.#parts.agents
          .of(computer.id)
          .plain("processes.get", { id: row.id, wait_ms: waitMs }, { waitMs, signal });
        const now = await this.observe(computer, row, state);
        if (now.state === "ended") return;
      }
    } catch (error) {
      // Its cell may have stopped or fallen asleep; looking from time to time finds what became of it.
      if (!signal.aborted && !(error instanceof AgentFault))
        this.#parts.logger.debug("the end of a process is not waited for", { process: row.id, error });
    }
  }

  async #lose(computer: Computer, rows: readonly ProcessRow[]): Promise<void> {
    const { store, clock } = this.#parts;
    for (const row of rows) await this.written(store.db, computer, row, lostOf(row, clock.now())).execute();
  }
}

/** Whether no cell can have had the process: there was none since it was admitted, or the computer has slept since before. */
export const neverHadCell = (computer: Computer, row: ProcessRow): boolean =>
  (computer.cellId === null && row.cell_id === null) ||
  (computer.state === "asleep" &&
    computer.desiredState === "asleep" &&
    row.cell_id === computer.cellId &&
    computer.updatedAtMs < row.started_at_ms);

const lostOf = (row: ProcessRow, endedAtMs: number): ProcessSeen => ({
  cellId: null,
  state: "ended",
  exit: { kind: "lost" },
  timedOut: false,
  outOfMemory: false,
  background: false,
  stdinOpen: false,
  endedAtMs,
  outputBytes: row.output_bytes,
  droppedBytes: row.dropped_bytes,
});

/** Whether the agent would know this process if it had run: it forgets the ones that began first, and it still has one that began before. */
const wouldKnow = (processes: readonly AgentProcessState[], row: ProcessRow): boolean =>
  processes.length < limits.processesKept ||
  processes.some(({ state, started_at_ms }) => state === "ended" && started_at_ms < row.started_at_ms);

const processEvent = (computer: Computer, row: ProcessRow, kind: "started" | "ended"): NewEvent => ({
  accountId: computer.accountId,
  kind: `process.${kind}`,
  target: row.id,
  computerId: computer.id,
  visibleTo: computer.principalId,
  data:
    kind === "started"
      ? { command: row.command }
      : {
          exit_code: exitCode(row.exit),
          exit: row.exit,
          timed_out: row.timed_out,
          out_of_memory: row.out_of_memory,
        },
});
