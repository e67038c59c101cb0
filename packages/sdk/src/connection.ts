import type { Operation } from "@holdfast/contract";
import { errorFromResponse, HoldfastApiError, HoldfastConnectionError } from "./errors.ts";
import type { Runtime } from "./lib/runtime.ts";
import { type CallOptions, type PreparedRequest, prepareRequest } from "./request.ts";

export interface ConnectionOptions {
  /** The address that `holdfast status` prints, for example `http://127.0.0.1:7300`. */
  readonly baseUrl: string;
  /** An assistant's key (`hf_…`) or a session's token (`hfs_…`). Without one only public operations and a browser's cookie work. */
  readonly token?: string;
  /** How often a request is repeated when that is safe. Default 2. */
  readonly retries?: number;
}

/** What may stand in the body of an upload. */
export type Bytes = ReadableStream<Uint8Array> | Blob | Uint8Array | string;

/** What goes with a request besides its operation's fields. */
interface Extra {
  readonly body?: Bytes;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests. Repeats one only when repeating is safe: see `mayRepeat`. */
export class Connection {
  readonly baseUrl: string;
  readonly #token: string | undefined;
  readonly #retries: number;
  readonly #runtime: Runtime;

  constructor(options: ConnectionOptions, runtime: Runtime) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#token = options.token;
    this.#retries = options.retries ?? 2;
    this.#runtime = runtime;
  }

  /**
   * Resolves to a successful response, whose body is still to come. Throws `HoldfastApiError` for a problem the server states,
   * `HoldfastConnectionError` when no answer came, and the signal's reason when aborted.
   */
  send(
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
    extra: Extra = {},
  ): Promise<Response> {
    return this.#send(operation, input, options, extra, (response) => Promise.resolve(response));
  }

  /** Resolves to the answer itself. Throws as `send` does; an answer that breaks off or is no JSON is none. */
  json(
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
    extra: Extra = {},
  ): Promise<unknown> {
    return this.#send(operation, input, options, extra, (response) => response.json());
  }

  async #send<T>(
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
    extra: Extra,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const prepared = prepareRequest(operation, input, {
      ...options,
      ...(operation.idempotent ? { idempotencyKey: options.idempotencyKey ?? this.#runtime.randomId() } : {}),
    });
    const replayable = !(extra.body instanceof ReadableStream);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(prepared, options.signal, extra, read);
      } catch (error) {
        const failed = error instanceof HoldfastApiError || error instanceof HoldfastConnectionError;
        const last = attempt >= this.#retries || !replayable;
        if (!failed || last || !mayRepeat(operation, error)) throw error;
        await this.#runtime.sleep(this.#pauseMs(attempt, error), options.signal);
      }
    }
  }

  socket(operation: Operation, input: Readonly<Record<string, unknown>>): WebSocket {
    const { target } = prepareRequest(operation, input, {});
    const url = `${this.baseUrl.replace(/^http/, "ws")}${target}`;
    return this.#runtime.openSocket(url, this.#authorization());
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#runtime.sleep(ms, signal);
  }

  async #once<T>(
    prepared: PreparedRequest,
    signal: AbortSignal | undefined,
    extra: Extra,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const body = extra.body ?? prepared.json;
    const init: RequestInit & { duplex?: "half" } = {
      method: prepared.method,
      headers: {
        accept: "application/json, */*",
        ...prepared.headers,
        ...(extra.body === undefined ? {} : { "content-type": "application/octet-stream" }),
        ...extra.headers,
        ...this.#authorization(),
      },
      redirect: "error",
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit["body"]> }),
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
      ...(signal === undefined ? {} : { signal }),
    };
    let what = "did not answer";
    try {
      const response = await this.#runtime.fetch(`${this.baseUrl}${prepared.target}`, init);
      if (!response.ok) throw await errorFromResponse(response);
      what = "broke off its answer";
      return await read(response);
    } catch (cause) {
      if (signal?.aborted || cause instanceof HoldfastApiError) throw cause;
      throw new HoldfastConnectionError(
        `${this.baseUrl} ${what} (${reasonOf(cause)}). Is Holdfast running there? See \`holdfast status\`.`,
        { cause },
      );
    }
  }

  #pauseMs(attempt: number, error: Error): number {
    if (error instanceof HoldfastApiError && error.retryAfterSeconds !== null) {
      return Math.min(error.retryAfterSeconds, 30) * 1000;
    }
    return Math.round(200 * 2 ** attempt * (0.5 + this.#runtime.random()));
  }

  #authorization(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }
}

/** Whether the same request may go out again: it did not happen, or happening twice is the same as once. */
const mayRepeat = (operation: Operation, error: HoldfastApiError | HoldfastConnectionError): boolean => {
  if (error instanceof HoldfastApiError && !error.retryable) return false;
  if (error instanceof HoldfastApiError && error.code === "rate_limited") return true;
  return operation.idempotent || operation.repeatable;
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
};
