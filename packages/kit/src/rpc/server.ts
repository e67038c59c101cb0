import { createServer, type Server, type Socket } from "node:net";
import { HoldfastError } from "@holdfast/contract";
import { listening, type UnixPlace } from "../listening.ts";
import type { Logger } from "../logger.ts";
import { encodeMessage, readMessages } from "./frames.ts";
import { requestMessage, type RpcHandlers, type RpcMethods } from "./schema.ts";

/** Connections and calls under way that one caller may hold; more are refused with `limit_reached`. */
const connectionLimit = 64;
const callLimit = 512;

export interface RpcServer {
  listen(where: UnixPlace): Promise<void>;
  /** Ends connections and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves one caller's methods on one listening socket. Input and output are checked against the schemas; a handler's `HoldfastError`
 * is passed on, anything else becomes `internal` and is logged here with its cause.
 */
export const createRpcServer = <M extends RpcMethods>(options: {
  readonly methods: M;
  readonly handlers: RpcHandlers<M>;
  readonly logger: Logger;
}): RpcServer => {
  const sockets = new Set<Socket>();
  let running = 0;
  const server: Server = createServer((socket) => {
    if (sockets.size >= connectionLimit) return void socket.destroy();
    sockets.add(socket);
    const abort = new AbortController();
    socket.on("close", () => {
      sockets.delete(socket);
      abort.abort(new HoldfastError("unavailable", "the caller went away"));
    });
    socket.on("error", (error) => options.logger.warn("rpc connection broke", { error }));
    socket.on("drain", () => socket.resume());
    readMessages(socket, (message) => void serve(socket, message, abort.signal));
  });

  const serve = async (socket: Socket, message: unknown, signal: AbortSignal): Promise<void> => {
    const request = requestMessage.safeParse(message);
    if (!request.success) return void socket.destroy(new Error("a message that is not a request"));
    const { id, method } = request.data;
    running += 1;
    try {
      const result = await call(method, request.data.params, signal);
      send(socket, { id, result });
    } catch (error) {
      send(socket, { id, error: asReply(error, method, options.logger) });
    } finally {
      running -= 1;
    }
  };

  const call = async (method: string, input: unknown, signal: AbortSignal): Promise<unknown> => {
    if (running > callLimit)
      throw new HoldfastError("limit_reached", `more than ${callLimit} calls are under way`, {
        limit: callLimit,
      });
    const declared = Object.hasOwn(options.methods, method) ? options.methods[method] : undefined;
    const handlers = options.handlers as Readonly<
      Record<string, (params: unknown, signal: AbortSignal) => Promise<unknown>>
    >;
    const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
    if (!declared || !handler)
      throw new HoldfastError("not_found", `there is no method ${JSON.stringify(method)} on this socket`);
    const params = declared.params.safeParse(input);
    if (!params.success) {
      throw new HoldfastError("invalid_input", `the params of ${method} do not fit`, {
        issues: params.error.issues.slice(0, 20),
      });
    }
    const result = await handler(params.data, signal);
    return declared.result.parse(result);
  };

  return {
    listen: async (where) => {
      await listening(server, where);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

/** A caller that does not read its answers is not read either: what waits for it is bounded. */
const send = (socket: Socket, message: unknown): void => {
  if (!socket.destroyed && !socket.write(encodeMessage(message))) socket.pause();
};

const asReply = (
  error: unknown,
  method: string,
  logger: Logger,
): { code: string; message: string; details: unknown } => {
  if (error instanceof HoldfastError)
    return { code: error.code, message: error.message, details: error.details };
  logger.error("rpc method failed", { method, error });
  return { code: "internal", message: `${method} failed`, details: {} };
};
