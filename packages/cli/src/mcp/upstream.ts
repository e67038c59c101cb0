import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Tool,
} from "@modelcontextprotocol/client";
import { ProtocolError as ServerProtocolError } from "@modelcontextprotocol/server";
import { newKey } from "../lib/random.ts";
import { pause, startStopwatch } from "../lib/time.ts";

export interface UpstreamOptions {
  /** Of the MCP endpoint. */
  readonly url: string;
  readonly key: string;
  readonly version: string;
  readonly onError: (error: Error) => void;
}

/** Longer than any tool waits. */
const callTimeoutMs = 120_000;
/** Holdfast serves again within five seconds of being killed. */
const patienceMs = 10_000;
const pauseMs = 250;

/** The MCP endpoint of a Holdfast, as the bridge uses it. Rides out a restart wherever repeating a request is safe. */
export class Upstream {
  readonly #options: UpstreamOptions;
  #client: Promise<Client> | undefined;
  #tools: readonly Tool[] | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** Undefined when Holdfast cannot be reached: the calls will say so. */
  async instructions(): Promise<string | undefined> {
    try {
      return (await this.#connected()).getInstructions();
    } catch (error) {
      this.#options.onError(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  }

  async list(signal: AbortSignal) {
    const result = await this.#riding(true, signal, async () => {
      const client = await this.#connected();
      return client.request({ method: "tools/list", params: {} }, { signal, timeout: callTimeoutMs });
    });
    this.#tools = result.tools;
    return result;
  }

  /** What cannot be passed on is told as a result, which a model reads. */
  async call(name: string, given: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    try {
      const { args, safe } = await this.#repeatable(name, given, signal);
      return await this.#riding(safe, signal, async () => {
        const client = await this.#connected();
        const params = { name, arguments: args };
        return client.request({ method: "tools/call", params }, { signal, timeout: callTimeoutMs });
      });
    } catch (error) {
      if (error instanceof ServerProtocolError || signal.aborted) throw error;
      return { isError: true, content: [{ type: "text", text: this.#explain(error) }] };
    }
  }

  /** Whether the call may be sent twice. A tool that takes an idempotency key gets one, so that it may. */
  async #repeatable(name: string, args: Record<string, unknown>, signal: AbortSignal) {
    const tools = this.#tools ?? (await this.list(signal)).tools;
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool?.annotations?.readOnlyHint || tool?.annotations?.idempotentHint) return { args, safe: true };
    if (!tool?.inputSchema.properties || !("idempotency_key" in tool.inputSchema.properties))
      return { args, safe: false };
    return { args: withKey(args), safe: true };
  }

  /** Sends, and sends again for a while when that is safe and the connection broke or the first request is still at work. */
  async #riding<T extends object>(safe: boolean, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const elapsed = startStopwatch();
    const goOn = (): boolean => safe && !signal.aborted && elapsed() < patienceMs;
    for (;;) {
      try {
        const result = await send();
        if (!isUnsettled(result) || !goOn()) return result;
      } catch (error) {
        // An error of the protocol stays one, on the other side of the bridge.
        if (error instanceof ProtocolError)
          throw new ServerProtocolError(error.code, error.message, error.data);
        if (isRefusal(error) || !goOn()) throw error;
      }
      await pause(pauseMs);
    }
  }

  async #connected(): Promise<Client> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const elapsed = startStopwatch();
    for (;;) {
      const client = new Client(
        { name: "holdfast-stdio-bridge", version: this.#options.version },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      const transport = new StreamableHTTPClientTransport(new URL(this.#options.url), {
        requestInit: { headers: { authorization: `Bearer ${this.#options.key}` } },
        fetch: this.#fetch,
      });
      try {
        await client.connect(transport);
        return client;
      } catch (error) {
        if (isRefusal(error) || elapsed() > patienceMs) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** A refused connection means that nothing was sent, so trying again is safe for every request. */
  readonly #fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const elapsed = startStopwatch();
    for (;;) {
      try {
        return await fetch(url, init);
      } catch (error) {
        const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code;
        if (code !== "ECONNREFUSED" || elapsed() > patienceMs || init?.signal?.aborted) throw error;
        await pause(pauseMs);
      }
    }
  };

  #explain(error: unknown): string {
    if (isRefusal(error)) {
      return "Holdfast refused the key of this bridge. The person at this machine must give it a valid one (`holdfast contexts show` names the key file; an owner makes keys with `holdfast keys create`).";
    }
    const reason = error instanceof Error ? error.message : String(error);
    return `Holdfast at ${this.#options.url} did not answer (${reason}). Whether the call happened is not known: look before repeating it. If this stays, the person at this machine should run \`holdfast status\`.`;
  }
}

/** A model's own key stays; null or nothing in its place is none, and the call must not go out twice without one. */
export const withKey = (args: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const own = args["idempotency_key"];
  return { ...args, idempotency_key: own === undefined || own === null || own === "" ? newKey() : own };
};

const isRefusal = (error: unknown): boolean =>
  (error instanceof SdkHttpError && error.status === 401) || (error as { code?: unknown }).code === 401;

/** The server's word that the first request with this key is still at work, or that it cannot serve yet. */
const isUnsettled = (result: object): boolean => {
  const told = (result as { _meta?: Record<string, unknown> })._meta?.["holdfast/error"] as
    | { code?: string }
    | undefined;
  return told?.code === "operation_running" || told?.code === "unavailable";
};
