import {
  type AgentMethod,
  agentMethods,
  type AgentParams,
  framePayloadLimitBytes,
  frameType,
  HoldfastError,
} from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { AgentConnection } from "./connection.ts";
import { agree, readHello, type Versions } from "./hello.ts";
import { toJson } from "./json.ts";
import { ConnectionLost, NoAnswer, ProtocolViolation } from "./violation.ts";

export interface CallLimits {
  /** For the connection and HELLO: an agent that is there says it within milliseconds. */
  readonly greetingMs: number;
  /** For each next frame, and each bit of room for ours, beyond what the call waits on purpose. */
  readonly stallMs: number;
}

/** A connection on which the CALL has been sent and HELLO read. */
export interface Begun {
  readonly connection: AgentConnection;
  readonly boot: string;
}

/** Makes calls to one agent: greets, agrees on a version (and remembers it), sends CALL. */
export class Caller {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #versions: Versions;
  readonly limits: CallLimits;
  #version: number;

  constructor(options: {
    readonly path: string;
    readonly clock: Clock;
    readonly versions: Versions;
    readonly limits: CallLimits;
  }) {
    this.#path = options.path;
    this.#clock = options.clock;
    this.#versions = options.versions;
    this.limits = options.limits;
    this.#version = options.versions.current;
  }

  /**
   * Throws `NotBegun` when the agent did not greet: it does nothing on a connection that was closed before. Later failures are the
   * shape's.
   */
  async begin<M extends AgentMethod>(
    method: M,
    params: AgentParams[M],
    signal: AbortSignal | undefined,
  ): Promise<Begun> {
    // The second try is for an agent of another version than the last call met: the cell was started anew.
    const begun =
      (await this.#attempt(method, params, signal)) ?? (await this.#attempt(method, params, signal));
    if (!begun)
      throw new ProtocolViolation("the computer's agent changes its protocol version from call to call");
    return begun;
  }

  async #attempt<M extends AgentMethod>(
    method: M,
    params: AgentParams[M],
    signal: AbortSignal | undefined,
  ): Promise<Begun | undefined> {
    const version = this.#version;
    const call = toJson({ protocol: version, method, params });
    if (call.length > framePayloadLimitBytes)
      throw new HoldfastError(
        "invalid_input",
        `as sent to the computer this is ${call.length} bytes, over the limit of ${framePayloadLimitBytes}; put more of it into a file`,
        { limit: framePayloadLimitBytes },
      );
    const connection = new AgentConnection({
      path: this.#path,
      clock: this.#clock,
      ...(signal ? { signal } : {}),
    });
    const { greetingMs } = this.limits;
    // A call that may be done twice goes out before HELLO is in: one hop less on the path of exec.
    const { repeatable } = agentMethods[method];
    const early = repeatable ? quietly(connection.write(frameType.call, call, greetingMs)) : undefined;
    try {
      const hello = readHello(await connection.next(greetingMs));
      const agreed = agree(hello, this.#versions);
      if (agreed === undefined)
        throw new ProtocolViolation(
          `the computer's agent speaks versions ${hello.oldest} to ${hello.protocol}, we speak ${this.#versions.oldest} to ${this.#versions.current}`,
        );
      this.#version = agreed;
      if (version < hello.oldest || version > hello.protocol) {
        connection.close();
        return undefined;
      }
      if (early) await early;
      else await connection.write(frameType.call, call, greetingMs);
      return { connection, boot: hello.boot };
    } catch (error) {
      connection.close();
      throw error instanceof ConnectionLost || error instanceof NoAnswer
        ? new NotBegun(error.message, { cause: error })
        : error;
    }
  }
}

/** The agent was not there or hung up before it greeted. */
export class NotBegun extends ConnectionLost {}

/** A failed write is a failed connection, which the reader reports. */
const quietly = (writing: Promise<void>): Promise<void> => writing.catch(() => {});
