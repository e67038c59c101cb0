import {
  type AgentMethod,
  type AgentMethodOf,
  type AgentParams,
  type AgentResult,
  frameType,
} from "@holdfast/contract";
import {
  type Agent,
  AgentUnreachable,
  type Attachment,
  type CallOptions,
  type Download,
  type DownloadOptions,
} from "../domain/agents.ts";
import { type Begun, type Caller, NotBegun } from "./calls.ts";
import { readPieces, readResult } from "./download.ts";
import { toJson } from "./json.ts";
import { sendBody } from "./upload.ts";
import { ConnectionLost, NoAnswer, ProtocolViolation } from "./violation.ts";

/** Counts the calls under way to one agent. */
export interface Slots {
  /** Throws `limit_reached` when all are taken; the returned function gives the slot back, once. */
  take(): () => void;
}

/** The four shapes of a call, on one agent. */
export class SocketAgent implements Agent {
  readonly #caller: Caller;
  readonly #slots: Slots;

  constructor(caller: Caller, slots: Slots) {
    this.#caller = caller;
    this.#slots = slots;
  }

  plain<M extends AgentMethodOf<"plain">>(
    method: M,
    params: AgentParams[M],
    options: CallOptions = {},
  ): Promise<AgentResult<M>> {
    return this.#once(method, params, options, async ({ connection }) =>
      readResult(method, await connection.next(this.#patience(options))),
    );
  }

  upload<M extends AgentMethodOf<"upload">>(
    method: M,
    params: AgentParams[M],
    body: AsyncIterable<Uint8Array>,
    options: CallOptions = {},
  ): Promise<AgentResult<M>> {
    return this.#once(method, params, options, ({ connection }) =>
      sendBody({
        method,
        connection,
        body,
        stallMs: this.#caller.limits.stallMs,
        lastMs: this.#patience(options),
      }),
    );
  }

  async download<M extends AgentMethodOf<"download">>(
    method: M,
    params: AgentParams[M],
    options: DownloadOptions = {},
  ): Promise<Download<M>> {
    return (await this.#stream(method, params, options)).download;
  }

  async attach(params: AgentParams["processes.attach"], options: CallOptions = {}): Promise<Attachment> {
    const { download, connection } = await this.#stream("processes.attach", params, {
      ...options,
      endless: true,
    });
    const { stallMs } = this.#caller.limits;
    const send = async (type: 5 | 6 | 9, payload: Uint8Array): Promise<void> => {
      try {
        await connection.write(type, payload, stallMs);
      } catch (error) {
        throw explain(error, true);
      }
    };
    return {
      ...download,
      write: (bytes) => send(frameType.data, bytes),
      resize: (columns, rows) => send(frameType.control, toJson({ type: "resize", columns, rows })),
      endInput: () => send(frameType.end, toJson({})),
    };
  }

  async #stream<M extends AgentMethodOf<"download" | "duplex">>(
    method: M,
    params: AgentParams[M],
    options: DownloadOptions,
  ): Promise<{ download: Download<M>; connection: Begun["connection"] }> {
    const release = this.#slots.take();
    let begun: Begun | undefined;
    try {
      begun = await this.#caller.begin(method, params, options.signal);
      const { connection } = begun;
      connection.whenClosed(release);
      const head = readResult(method, await connection.next(this.#patience(options)));
      const stallMs = options.endless ? Number.POSITIVE_INFINITY : this.#patience(options);
      const download = readPieces({
        method,
        connection,
        head,
        stallMs,
        explain: (error) => explain(error, true),
      });
      return { download, connection };
    } catch (error) {
      begun?.connection.close();
      release();
      throw explain(error, begun !== undefined);
    }
  }

  async #once<M extends AgentMethod, T>(
    method: M,
    params: AgentParams[M],
    options: CallOptions,
    use: (begun: Begun) => Promise<T>,
  ): Promise<T> {
    const release = this.#slots.take();
    let begun: Begun | undefined;
    try {
      begun = await this.#caller.begin(method, params, options.signal);
      return await use(begun);
    } catch (error) {
      throw explain(error, begun !== undefined);
    } finally {
      begun?.connection.close();
      release();
    }
  }

  #patience(options: CallOptions): number {
    return (options.waitMs ?? 0) + this.#caller.limits.stallMs;
  }
}

/** Only what happened on the wire is translated: refusals, a signal's reason and errors of the caller's own stream pass as they are. */
const explain = (error: unknown, begun: boolean): unknown => {
  if (error instanceof NotBegun)
    return new AgentUnreachable("the computer's agent is not there", false, { cause: error });
  if (error instanceof ConnectionLost || error instanceof NoAnswer)
    return new AgentUnreachable(error.message, begun, { cause: error });
  if (error instanceof ProtocolViolation)
    return new AgentUnreachable(`the computer's agent broke the protocol: ${error.message}`, begun, {
      cause: error,
    });
  return error;
};
