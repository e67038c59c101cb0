import { HoldfastError, type OperationOutput, type OperationParams } from "@holdfast/contract";
import { AgentFault, AgentUnreachable, type Download } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import type { EventsResult, ServerEvent, TerminalResult } from "../../domain/handler.ts";
import { decodeCursor, pageOf } from "../../lib/cursor.ts";
import { getProcess, listProcesses, type ProcessRow } from "../../store/processes.ts";
import type { Database } from "../../store/transaction.ts";
import { agentIfAwake, type CellParts, withAgent } from "../cell.ts";
import { collectOutput, outputFields, outputPage } from "../output.ts";
import { attachTerminal } from "./attach.ts";
import type { ProcessKeeper } from "./keeper.ts";
import { signalNumber } from "./signals.ts";
import { type ProcessView, processView, seenOf, withSeen } from "./view.ts";

export interface ProcessesParts extends CellParts {
  readonly db: Database;
  readonly keeper: ProcessKeeper;
}

/** What is done with processes once they are there. Each takes the computer as found for the caller. */
export class Processes {
  readonly #parts: ProcessesParts;

  constructor(parts: ProcessesParts) {
    this.#parts = parts;
  }

  async list(
    computer: Computer,
    params: OperationParams<"process.list">,
  ): Promise<OperationOutput<"process.list">> {
    const rows = await listProcesses(this.#parts.db, {
      computerId: computer.id,
      state: params.state,
      before: decodeCursor(params.cursor, /^prc_[0-9a-z]{20}$/),
      limit: params.limit + 1,
    });
    const page = pageOf(rows, params.limit, (row) => row.id);
    return { processes: page.rows.map(processView), next_cursor: page.nextCursor };
  }

  /** Asks the agent only while the computer is awake: looking at a process wakes nothing. */
  async get(
    computer: Computer,
    params: Pick<OperationParams<"process.get">, "process" | "wait_ms">,
    signal: AbortSignal,
  ): Promise<ProcessView> {
    const row = await this.#row(computer, params.process);
    const agent = row.state === "ended" ? undefined : agentIfAwake(this.#parts, computer);
    if (!agent) return processView(row);
    const done = this.#parts.computers.activity.use(computer.id);
    try {
      const state = await agent.plain(
        "processes.get",
        { id: row.id, wait_ms: params.wait_ms },
        { waitMs: params.wait_ms, signal },
      );
      return processView(await this.#parts.keeper.observe(computer, row, state));
    } catch (error) {
      // It is just being started, or its cell ends at this moment: what is written down is what is known.
      if (error instanceof AgentFault || error instanceof AgentUnreachable)
        return processView(await this.#row(computer, row.id));
      throw error;
    } finally {
      done();
    }
  }

  /** `merge`: both streams as one, in the order they came. */
  async output(
    computer: Computer,
    params: OperationParams<"process.output"> & { readonly merge?: boolean },
    signal: AbortSignal,
  ): Promise<OperationOutput<"process.output">> {
    const row = await this.#row(computer, params.process);
    return withAgent(this.#parts, computer, signal, async (agent) => {
      const read = (cursor: number, waitMs: number) =>
        agent.download(
          "output.read",
          { id: row.id, cursor, max_bytes: params.max_bytes, wait_ms: waitMs },
          { waitMs, signal },
        );
      return readPage(read, params);
    });
  }

  async follow(
    computer: Computer,
    params: OperationParams<"process.follow">,
    lastEventId: string | null,
    signal: AbortSignal,
  ): Promise<EventsResult> {
    const row = await this.#row(computer, params.process);
    const from = lastEventId !== null && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : params.cursor;
    return withAgent(this.#parts, computer, signal, async (agent, awake) => {
      const download = await agent.download(
        "output.follow",
        { id: row.id, cursor: from },
        { signal, endless: true },
      );
      const { keeper } = this.#parts;
      async function* events(): AsyncGenerator<ServerEvent> {
        let cursor = from;
        for await (const piece of download.pieces) {
          if (piece.kind === "output") {
            cursor += piece.bytes.length;
            const base64 = piece.bytes.toString("base64");
            yield { id: String(cursor), event: "output", data: { stream: piece.stream, base64, cursor } };
          } else if (piece.kind === "event") {
            cursor += piece.event.bytes;
            yield { id: String(cursor), event: "dropped", data: { bytes: piece.event.bytes, cursor } };
          }
        }
        const state = download.end()?.process;
        if (state)
          yield { event: "end", data: { process: processView(await keeper.observe(awake, row, state)) } };
      }
      return { target: row.id, events: closing(events(), () => download.close()) };
    });
  }

  async input(
    computer: Computer,
    params: OperationParams<"process.input">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"process.input">> {
    if (params.text !== undefined && params.base64 !== undefined)
      throw new HoldfastError("invalid_input", "give at most one of `text` and `base64`", {
        issues: [{ path: ["text"], message: "at most one of `text` and `base64`" }],
      });
    const row = await this.#running(computer, params.process);
    const bytes =
      params.base64 === undefined ? Buffer.from(params.text ?? "") : Buffer.from(params.base64, "base64");
    try {
      return await withAgent(this.#parts, computer, signal, (agent) =>
        agent.upload("processes.write", { id: row.id, close: params.close }, one(bytes), { signal }),
      );
    } catch (error) {
      if (error instanceof AgentUnreachable && error.begun)
        throw new HoldfastError(
          "timed_out",
          "the process does not read its input; some of it may have been taken",
          { process: row.id },
          { cause: error },
        );
      throw error;
    }
  }

  async signal(
    computer: Computer,
    params: OperationParams<"process.signal">,
    signal: AbortSignal,
  ): Promise<ProcessView> {
    // A process that has ended may have left children: the agent knows whether there is anything to signal.
    const row = await this.#row(computer, params.process);
    return withAgent(this.#parts, computer, signal, async (agent, awake) => {
      const kill = params.signal === "KILL" && params.scope === "tree";
      const state = await agent.plain(
        "processes.signal",
        {
          id: row.id,
          signal: signalNumber(params.signal),
          scope: kill ? "kill" : params.scope === "tree" ? "all" : "process",
        },
        { signal },
      );
      if (row.state === "ended") return processView({ ...row, background: state.background });
      return processView(await this.#parts.keeper.observe(awake, row, state));
    });
  }

  async resize(
    computer: Computer,
    params: OperationParams<"process.resize">,
    signal: AbortSignal,
  ): Promise<ProcessView> {
    const row = await this.#running(computer, params.process);
    const { columns, rows } = params;
    return withAgent(this.#parts, computer, signal, async (agent, awake) => {
      const state = await agent.plain("processes.resize", { id: row.id, columns, rows }, { signal });
      return processView(withSeen(row, seenOf(state, awake.cellId, row.started_at_ms)));
    });
  }

  async attach(
    computer: Computer,
    params: OperationParams<"process.attach">,
    signal: AbortSignal,
  ): Promise<TerminalResult> {
    const row = await this.#row(computer, params.process);
    return withAgent(this.#parts, computer, signal, async (agent, awake) => {
      const attachment = await agent.attach(
        { id: row.id, ...(params.cursor === undefined ? {} : { cursor: params.cursor }) },
        { signal },
      );
      return {
        target: row.id,
        terminal: (connection) =>
          attachTerminal(attachment, connection, async (state) =>
            processView(await this.#parts.keeper.observe(awake, row, state)),
          ),
        abandon: () => attachment.close(),
      };
    });
  }

  async #row(computer: Computer, id: string): Promise<ProcessRow> {
    const row = await getProcess(this.#parts.db, computer.id, id);
    if (!row)
      throw new HoldfastError("not_found", `there is no process ${id} on ${computer.name}`, { process: id });
    return row;
  }

  async #running(computer: Computer, id: string): Promise<ProcessRow> {
    const row = await this.#row(computer, id);
    if (row.state === "ended")
      throw new HoldfastError("process_ended", `process ${id} has ended`, { process: id });
    return row;
  }
}

type Read = (cursor: number, waitMs: number) => Promise<Download<"output.read">>;

/** A page of text never shows half a character that is still being written: the rest is waited for, as long as the caller waits. */
export const readPage = async (
  read: Read,
  params: Pick<OperationParams<"process.output">, "cursor" | "max_bytes" | "wait_ms" | "encoding"> & {
    /** Both streams as one, in the order they came. */
    readonly merge?: boolean;
  },
): Promise<OperationOutput<"process.output">> => {
  let ahead = 0;
  for (;;) {
    // Asking behind the half character makes the agent wait for its other half.
    if (ahead > 0) (await read(params.cursor + ahead, params.wait_ms)).close();
    const download = await read(params.cursor, ahead > 0 ? 0 : params.wait_ms);
    const { head } = download;
    const { captured, total, dropped } = await collectOutput(download, params.max_bytes, params);
    const begins = params.cursor + head.dropped_bytes + dropped;
    const full = total >= params.max_bytes;
    const page = outputPage(captured, begins, {
      encoding: params.encoding,
      final: head.ended && !full,
      full,
    });
    const stuck = total > 0 && page.nextCursor === begins && !head.ended;
    if (stuck && ahead === 0 && params.wait_ms > 0) {
      ahead = total;
      continue;
    }
    return {
      ...outputFields(page, { total: Number.POSITIVE_INFINITY, truncated: head.dropped_bytes + dropped }),
      more: full,
      ended: head.ended,
    };
  }
};

/** Lets go of the agent also when nobody ever reads. */
const closing = <T>(source: AsyncGenerator<T>, close: () => void): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => ({
    next: () => source.next(),
    return: async () => {
      close();
      await source.return(undefined).catch(() => {});
      return { done: true, value: undefined };
    },
  }),
});

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}
