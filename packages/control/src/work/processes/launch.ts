import { type AgentProcessState, HoldfastError, type OperationOutput } from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import { type Agent, AgentFault, AgentUnreachable } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import type { OperationContext } from "../../domain/handler.ts";
import { admitProcess, deleteProcess, type ProcessRow, type ProcessSeen } from "../../store/processes.ts";
import type { Compilable } from "kysely";
import type { Database, Store, Transaction } from "../../store/transaction.ts";
import { type CellParts, withAgent } from "../cell.ts";
import { collectOutput, outputFields, outputPage } from "../output.ts";
import type { ProcessKeeper } from "./keeper.ts";
import { commandText, type ExecParams, holdsInput, type Launch, launchOf, type StartParams } from "./spec.ts";
import { processView, seenOf, withSeen } from "./view.ts";

export interface LaunchParts extends CellParts {
  readonly store: Store;
  readonly keeper: ProcessKeeper;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface AdmittedProcess {
  readonly target: string;
  readonly computer: Computer;
  readonly row: ProcessRow;
}

/** What a started process answers, and what is written down with it. */
export interface Launched<Output> {
  readonly output: Output;
  readonly last: (db: Database) => readonly Compilable[];
}

type ExecOutput = OperationOutput<"process.exec">;

/**
 * Starts processes. The path of exec holds two durable commits, admission and outcome, and one connection to the agent; the process id is
 * made at admission, and the agent runs an id at most once, so every doubt is settled by asking again.
 */
export class Launcher {
  readonly #parts: LaunchParts;

  constructor(parts: LaunchParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    context: OperationContext,
    params: ExecParams | StartParams,
  ): Promise<AdmittedProcess> {
    const id = this.#parts.ids("process");
    const fresh = {
      id,
      operationId: context.operationId,
      command: commandText(params),
      terminal: "terminal" in params && params.terminal !== undefined,
      stdinOpen: holdsInput(params),
      keepAwake: "keep_awake" in params && params.keep_awake,
      nowMs: this.#parts.clock.now(),
    };
    const found = await admitProcess(transaction, context.principal, params.computer, fresh);
    const computer = this.#parts.computers.choose(context.principal, params.computer, found);
    const row: ProcessRow = {
      id,
      computer_id: computer.id,
      cell_id: computer.cellId,
      operation_id: context.operationId,
      principal_id: context.principal.id,
      command: fresh.command,
      terminal: fresh.terminal,
      stdin_open: fresh.stdinOpen,
      state: "starting",
      exit: null,
      timed_out: false,
      out_of_memory: false,
      background: false,
      started_at_ms: fresh.nowMs,
      ended_at_ms: null,
      output_bytes: 0,
      dropped_bytes: 0,
      keep_awake: fresh.keepAwake,
    };
    return { target: id, computer, row };
  }

  /** Waits for the end, at most `wait_ms`; then hands over what is known by then. */
  async exec(
    context: OperationContext,
    params: ExecParams,
    { computer, row }: AdmittedProcess,
  ): Promise<Launched<ExecOutput>> {
    const launch = launchOf(row.id, computer, params);
    return this.#guarded(
      context.signal,
      row,
      (asking) =>
        withAgent(
          this.#parts,
          computer,
          context.signal,
          (agent, awake) => asking(() => this.#run(agent, awake, row, launch, params, context.signal)),
          { repeatable: true },
        ),
      () => bare(row),
    );
  }

  /** Answers a repeated request: waits for the same process and shows its output from the beginning. */
  async again(
    context: OperationContext,
    params: ExecParams,
    { computer, row }: AdmittedProcess,
  ): Promise<ExecOutput> {
    const { keeper } = this.#parts;
    const { signal } = context;
    return withAgent(
      this.#parts,
      computer,
      signal,
      async (agent, awake) => {
        const waitMs = params.wait_ms;
        let state: AgentProcessState;
        try {
          state = await agent.plain("processes.get", { id: row.id, wait_ms: waitMs }, { waitMs, signal });
        } catch (error) {
          // It never started, or is so old that the computer has forgotten it; the row says which.
          if (error instanceof AgentFault && error.agentCode === "not_found") return bare(row);
          throw error;
        }
        const now = await keeper.observe(awake, row, state);
        const read = await agent.download(
          "output.read",
          { id: row.id, cursor: 0, max_bytes: Math.max(1, params.max_output_bytes) },
          { signal },
        );
        const { captured, total, dropped } = await collectOutput(read, Math.max(1, params.max_output_bytes));
        const truncated = read.head.dropped_bytes + dropped;
        const full = truncated + total < state.output_bytes;
        const page = outputPage(captured, truncated, {
          encoding: params.encoding,
          final: now.state === "ended" && !full,
          full,
        });
        return {
          process: processView(now),
          ...outputFields(page, { total: state.output_bytes, truncated }),
        };
      },
      { repeatable: true },
    );
  }

  async #run(
    agent: Agent,
    computer: Computer,
    row: ProcessRow,
    launch: Launch,
    params: Pick<ExecParams, "wait_ms" | "max_output_bytes" | "encoding">,
    signal: AbortSignal,
  ): Promise<Launched<ExecOutput>> {
    const { clock, crashPoint } = this.#parts;
    const until = clock.monotonic() + params.wait_ms;
    crashPoint("process-before-run");
    if (launch.input) await agent.plain("processes.start", launch.spec, { signal });
    const feeding = launch.input && feed(agent, row.id, launch.input, signal);
    const download = await agent.download(
      "processes.run",
      { ...launch.spec, wait_ms: params.wait_ms, max_output_bytes: params.max_output_bytes },
      { waitMs: params.wait_ms, signal },
    );
    const collected = await collectOutput(download, params.max_output_bytes);
    await feeding;
    let { process } = download.head;
    // More output than fits ends the call early; the exit may be waited for all the same.
    const leftMs = Math.floor(until - clock.monotonic());
    if (process.state === "running" && leftMs > 0)
      process = await agent.plain(
        "processes.get",
        { id: row.id, wait_ms: leftMs },
        { waitMs: leftMs, signal },
      );
    crashPoint("process-after-run");
    const seen = seenOf(process, computer.cellId, clock.now());
    const begins = Math.max(0, download.head.next_cursor - collected.total - collected.dropped);
    const page = outputPage(collected.captured, begins, {
      encoding: params.encoding,
      final: process.state === "ended" && download.head.next_cursor >= process.output_bytes,
      full: download.head.next_cursor < process.output_bytes,
    });
    return {
      output: {
        process: processView(withSeen(row, seen)),
        ...outputFields(page, {
          total: process.output_bytes,
          truncated: download.head.dropped_bytes + collected.dropped,
        }),
      },
      last: this.#last(computer, row, seen),
    };
  }

  async start(
    context: OperationContext,
    params: StartParams,
    { computer, row }: AdmittedProcess,
  ): Promise<Launched<OperationOutput<"process.start">>> {
    const { clock, crashPoint } = this.#parts;
    const launch = launchOf(row.id, computer, params);
    return this.#guarded(
      context.signal,
      row,
      (asking) =>
        withAgent(
          this.#parts,
          computer,
          context.signal,
          (agent, awake) =>
            asking(async () => {
              crashPoint("process-before-start");
              const state = await agent.plain("processes.start", launch.spec, { signal: context.signal });
              crashPoint("process-after-start");
              if (launch.input) await feed(agent, row.id, launch.input, context.signal, holdsInput(params));
              const seen = seenOf(state, awake.cellId, clock.now());
              return {
                output: processView(withSeen(row, seen)),
                last: this.#last(awake, row, seen),
              };
            }),
          { repeatable: true },
        ),
      () => processView(row),
    );
  }

  #last(computer: Computer, row: ProcessRow, seen: ProcessSeen): Launched<never>["last"] {
    const { keeper } = this.#parts;
    return (db) => {
      const now = withSeen(row, seen);
      if (now.state === "running") keeper.watch(computer, now);
      return [keeper.written(db, computer, row, seen)];
    };
  }

  /**
   * Takes the row back when the process surely never ran. When nobody knows (the caller went away, the connection broke) the process is
   * handed over as it stands: asking for it tells later what became of it.
   */
  async #guarded<T>(
    signal: AbortSignal,
    row: ProcessRow,
    work: (asking: Asking<Launched<T>>) => Promise<Launched<T>>,
    handOver: () => T,
  ): Promise<Launched<T>> {
    const { store, crashPoint } = this.#parts;
    let open = false;
    try {
      return await work(async (call) => {
        try {
          return await call();
        } catch (error) {
          // For good: what a second try meets, on the way or there, says nothing of the first.
          open ||= signal.aborted || mayRun(error);
          throw error;
        }
      });
    } catch (error) {
      if (open) return { output: handOver(), last: () => [] };
      crashPoint("process-before-deleted");
      await deleteProcess(store.db, row.id);
      throw error;
    }
  }
}

/** Wraps each time the agent is asked to run it. */
type Asking<T> = (call: () => Promise<T>) => Promise<T>;

/** A process of which nothing but its row is known. */
const bare = (row: ProcessRow): ExecOutput => ({
  process: processView(row),
  ...outputFields({ stdout: "", stderr: "", nextCursor: 0 }, { total: 0, truncated: 0 }),
});

/** Refusals by the agent or on the way to it say that nothing runs; all else leaves it open. */
const mayRun = (error: unknown): boolean => {
  if (error instanceof AgentUnreachable) return error.begun;
  if (error instanceof AgentFault) return error.agentCode === "timed_out";
  return !(error instanceof HoldfastError) || error.code === "unavailable";
};

/** Sends input that did not fit into the call. A process that ends without reading all of it is no failure. */
const feed = async (
  agent: Agent,
  id: string,
  input: Buffer,
  signal: AbortSignal,
  keepOpen = false,
): Promise<void> => {
  try {
    await agent.upload("processes.write", { id, close: !keepOpen }, once(input), { signal });
  } catch (error) {
    if (!(error instanceof AgentFault) && !(error instanceof AgentUnreachable)) throw error;
  }
};

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
