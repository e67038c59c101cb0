import { setTimeout as sleep } from "node:timers/promises";
import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { ProtocolError as ServerProtocolError, Server } from "@modelcontextprotocol/server";
import { serveStdio, type StdioServerHandle } from "@modelcontextprotocol/server/stdio";

export interface BridgeOptions {
  readonly url: string;
  readonly key: string;
  readonly version: string;
  readonly onError: (error: Error) => void;
}

/** Longer than any tool waits. */
const callTimeoutMs = 120_000;
/** Holdfast serves again within five seconds of being killed. */
const patienceMs = 10_000;

/**
 * Serves MCP on standard input and output by passing every request on to `/mcp`: the tools, their words and their results are the
 * server's own. Requests are stateless there, so a restart of Holdfast is only a pause.
 */
export const serveBridge = (options: BridgeOptions): StdioServerHandle => {
  const upstream = new Upstream(options);
  return serveStdio(
    async () => {
      const instructions = await upstream.instructions();
      // oxlint-disable-next-line typescript/no-deprecated -- not gone but "for advanced use": a bridge has no tools of its own to declare.
      const server = new Server(
        { name: "holdfast", title: "Holdfast", version: options.version },
        { capabilities: { tools: {} }, ...(instructions === undefined ? {} : { instructions }) },
      );
      server.setRequestHandler("tools/list", (_request, context) => upstream.list(context.mcpReq.signal));
      server.setRequestHandler("tools/call", (request, context) =>
        upstream.call(request.params.name, request.params.arguments ?? {}, context.mcpReq.signal),
      );
      return server;
    },
    { onerror: options.onError },
  );
};

class Upstream {
  readonly #options: BridgeOptions;
  #client: Promise<Client> | undefined;

  constructor(options: BridgeOptions) {
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
    const client = await this.#connected();
    return await passErrors(() =>
      client.request({ method: "tools/list", params: {} }, { signal, timeout: callTimeoutMs }),
    );
  }

  /** What cannot be passed on is told as a result, which a model reads. */
  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    try {
      const client = await this.#connected();
      return await passErrors(() =>
        client.request(
          { method: "tools/call", params: { name, arguments: args } },
          { signal, timeout: callTimeoutMs },
        ),
      );
    } catch (error) {
      if (error instanceof ServerProtocolError || signal.aborted) throw error;
      return { isError: true, content: [{ type: "text", text: this.#explain(error) }] };
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
    const began = performance.now();
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
        if (isRefusal(error) || performance.now() - began > patienceMs) throw error;
        await sleep(250);
      }
    }
  }

  /** A refused connection means that nothing was sent, so trying again is safe for every request. */
  readonly #fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const began = performance.now();
    for (;;) {
      try {
        return await fetch(url, init);
      } catch (error) {
        const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code;
        if (code !== "ECONNREFUSED" || performance.now() - began > patienceMs || init?.signal?.aborted)
          throw error;
        await sleep(250);
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

const isRefusal = (error: unknown): boolean =>
  (error instanceof SdkHttpError && error.status === 401) || (error as { code?: unknown }).code === 401;

/** An error of the protocol stays one, on the other side of the bridge. */
const passErrors = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ProtocolError) throw new ServerProtocolError(error.code, error.message, error.data);
    throw error;
  }
};
