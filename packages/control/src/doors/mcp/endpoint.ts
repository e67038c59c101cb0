import { HoldfastError, limits } from "@holdfast/contract";
import {
  createMcpHandler,
  type LegacyHttpHandler,
  type McpServerFactory,
  isLegacyRequest,
} from "@modelcontextprotocol/server";

/** Who a request comes from, as far as the door must know before the protocol starts. */
export interface Caller {
  readonly principal: unknown;
  readonly token: string;
  readonly address: string;
  /** Counts what is held of the request. Throws when that is too much. */
  readonly hold?: { take(bytes: number): void; release(): number };
  /** The place it has while it is answered. `signal` ends a reply that streams; `refused` records what of it is refused here. */
  readonly entrance?: {
    readonly signal: AbortSignal;
    refused(refusal: HoldfastError): void;
    leave(): void;
  };
}

/** Reads the body of a request whose sender is known, telling `take` of each piece. */
export type ReadBody = (take: (bytes: number) => void) => Promise<Uint8Array>;

export interface McpEndpointOptions {
  readonly factory: McpServerFactory;
  /** Undefined refuses with 401. The conformance suite has no keys: its endpoint takes everybody. */
  readonly authenticate: (request: Request, address: string) => Promise<Caller | undefined>;
  /** Whether this `Host` value may be used to reach us: rebinding a foreign name to our address must lead nowhere. */
  readonly allowHost: (host: string) => boolean;
  /** Whether a page of this `Origin` may call. Programs send none; that is always allowed. */
  readonly allowOrigin: (origin: string) => boolean;
  /** Refusals and protocol errors, for the log. */
  readonly onError: (error: Error) => void;
  /**
   * Serves 2025-era requests instead of the stateless default. Only the conformance suite needs it, whose fixtures call the client
   * back: with sessions both official clients break when control is killed, so the product has none.
   */
  readonly legacy?: LegacyHttpHandler;
}

export interface McpEndpoint {
  /** `address` is where the request came from. Without `readBody` the body is the request's own. */
  fetch(request: Request, address: string, readBody?: ReadBody): Promise<Response>;
  close(): Promise<void>;
}

/** The HTTP side of the MCP door, without any tools: Host, Origin, key, size, and both eras of the protocol on one path. */
export const createMcpEndpoint = (options: McpEndpointOptions): McpEndpoint => {
  const handler = createMcpHandler(options.factory, {
    legacy: options.legacy ? "reject" : "stateless",
    maxRequestBodySize: limits.jsonBodyBytes,
    maxSubscriptions: limits.subscriptions,
    onerror: options.onError,
  });
  return {
    fetch: async (given, address, readBody) => {
      const refused = refuseOrigin(given, options);
      if (refused) return refused;
      const caller = await refusing(options.authenticate(given, address));
      if (caller instanceof Response) return caller;
      if (!caller) return unauthenticated(given);
      const letGo = (): void => {
        caller.hold?.release();
        caller.entrance?.leave();
      };
      const answer = async (): Promise<Response> => {
        const request = await refusing(withBody(given, caller, readBody), (refusal) =>
          caller.entrance?.refused(refusal),
        );
        if (request instanceof Response) return request;
        if (options.legacy && (await isLegacyRequest(request))) return options.legacy(request);
        return handler.fetch(request, {
          authInfo: { token: caller.token, clientId: "holdfast", scopes: [], extra: { caller } },
        });
      };
      return answer().then(
        (response) => untilSent(response, letGo),
        (error: unknown) => {
          letGo();
          throw error;
        },
      );
    },
    close: () => handler.close(),
  };
};

/** The request with its body read. The SDK would read it too, but counts nothing and waits for ever. */
const withBody = async (
  request: Request,
  caller: Caller,
  readBody: ReadBody | undefined,
): Promise<Request> => {
  const signal = caller.entrance ? AbortSignal.any([request.signal, caller.entrance.signal]) : request.signal;
  if (request.method !== "POST") return request;
  if (!readBody) return caller.entrance ? new Request(request, { signal }) : request;
  const body = await readBody((bytes) => caller.hold?.take(bytes));
  return new Request(request.url, {
    method: "POST",
    headers: request.headers,
    body: Buffer.from(body),
    signal,
  });
};

/** The reply, calling `then` when it has been made: a stream begins before what it tells of does. */
const untilSent = (response: Response, then: () => void): Response => {
  const { body, headers, status } = response;
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) {
    then();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const piece = await reader.read();
        if (!piece.done) return controller.enqueue(piece.value);
        then();
        controller.close();
      } catch (error) {
        then();
        throw error;
      }
    },
    cancel: async (reason) => {
      then();
      await reader.cancel(reason);
    },
  });
  return new Response(watched, { status, headers });
};

/** A refusal as an answer: nothing of the protocol has begun yet. */
const refusing = async <T>(
  work: Promise<T>,
  refused?: (refusal: HoldfastError) => void,
): Promise<T | Response> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    refused?.(error);
    const { status, title, remedy } = error.definition;
    const after = error.details["retry_after_ms"] ?? (status === 429 || status === 503 ? 1000 : undefined);
    const headers =
      typeof after === "number" ? { "retry-after": String(Math.ceil(after / 1000)) } : undefined;
    return rpcError(status, -32000, `${error.code}: ${title}. ${error.message} ${remedy}`, headers);
  }
};

const refuseOrigin = (request: Request, options: McpEndpointOptions): Response | undefined => {
  const host = request.headers.get("host") ?? "";
  const origin = request.headers.get("origin");
  if (options.allowHost(host) && (origin === null || options.allowOrigin(origin))) return undefined;
  return rpcError(
    403,
    -32000,
    "This Host or Origin may not be used here. Use the address that `holdfast status` prints.",
  );
};

/**
 * A plain bearer challenge. It names no resource metadata on purpose: clients that find OAuth metadata have ignored the key they were
 * configured with.
 */
const unauthenticated = (request: Request): Response =>
  rpcError(
    401,
    -32001,
    "No valid key came with the request. Send `Authorization: Bearer hf_…`; an owner makes keys with `holdfast keys create`.",
    {
      "www-authenticate": request.headers.has("authorization")
        ? 'Bearer realm="holdfast", error="invalid_token"'
        : 'Bearer realm="holdfast"',
    },
  );

const rpcError = (
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response => Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers });
