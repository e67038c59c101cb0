import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import {
  HoldfastError,
  type Operation,
  operationNames,
  operations,
  type OperationName,
} from "@holdfast/contract";
import { BoundedQueue, refuseRawHead } from "@holdfast/kit";
import { WebSocket, WebSocketServer } from "ws";
import { asHoldfastError } from "../../dispatch/failure.ts";
import type { TerminalConnection, TerminalResult } from "../../domain/handler.ts";
import { problemOf, type Problem } from "./problem.ts";
import { dispatchRequestOf, originHeaders } from "./request.ts";
import type { RouteParts } from "./routes.ts";

const messageBytes = 1024 * 1024;
/** Messages taken from the socket and not yet by the operation, before reading pauses. */
const waitingMessages = 64;
/** The same in bytes: by number alone a terminal whose process reads nothing would hold 64 MiB of its peer's. */
const waitingBytes = 256 * 1024;
const pingMs = 30_000;

export interface Upgrades {
  /** For the server's `upgrade` event. */
  handle(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): void;
}

/** WebSockets of operations whose reply is `terminal`. Everything is decided before the 101: until then a refusal is an ordinary problem. */
export const createUpgrades = (parts: RouteParts): Upgrades => {
  const server = new WebSocketServer({ noServer: true, maxPayload: messageBytes, perMessageDeflate: false });
  const routes = operationNames
    .filter((name) => operations[name].reply === "terminal")
    .map((name) => ({ name, pattern: pathPattern(operations[name].route.path) }));

  const serve = async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const bad = refuseRawHead(incoming);
    if (bad !== undefined) throw new HoldfastError("malformed_request", bad);
    parts.hosts.check(originHeaders(incoming));
    const path = (incoming.url ?? "").split("?", 1)[0] ?? "";
    const route = routes.find(({ pattern }) => pattern.test(path));
    if (!route || incoming.headers.upgrade?.toLowerCase() !== "websocket")
      throw new HoldfastError("malformed_request", "nothing here is upgraded to that protocol");
    const gone = new AbortController();
    const close = (): void => gone.abort(new HoldfastError("unavailable", "the caller went away"));
    socket.once("close", close);
    const operation: Operation = operations[route.name];
    const fields = fieldsOf(route.pattern, path);
    // The head of an upgrade has no body: its bytes are the terminal's.
    const body = { incoming, clock: parts.clock, invite: () => {} };
    const request = dispatchRequestOf(parts, operation, body, fields, gone.signal);
    const outcome = await parts.dispatch(request);
    if (!outcome.ok) return refuse(socket, problemOf(outcome.error, outcome));
    const { result } = outcome;
    if (!("terminal" in result)) throw new TypeError(`${route.name} did not answer a terminal`);
    if (socket.destroyed) return result.abandon();
    let upgraded = false;
    server.handleUpgrade(incoming, socket, head, (webSocket) => {
      upgraded = true;
      void carry(parts, webSocket, result, gone.signal, route.name);
    });
    // `ws` answers a broken handshake itself, at once.
    if (!upgraded) result.abandon();
  };

  return {
    handle: (incoming, socket, head) => {
      socket.on("error", () => socket.destroy());
      serve(incoming, socket, head).catch((error: unknown) =>
        refuse(socket, problemOf(asHoldfastError(error, parts.logger, "none"))),
      );
    },
    close: () => {
      for (const client of server.clients) client.close(1001, "control is shutting down");
      server.close();
    },
  };
};

const carry = async (
  parts: RouteParts,
  webSocket: WebSocket,
  result: TerminalResult,
  gone: AbortSignal,
  name: OperationName,
): Promise<void> => {
  const queue = new BoundedQueue<Uint8Array | string>(waitingMessages * 4);
  const waiting = { bytes: 0 };
  let alive = true;
  webSocket.on("pong", () => {
    alive = true;
  });
  webSocket.on("error", (error) =>
    parts.logger.info("a terminal's socket broke", { operation: name, error }),
  );
  webSocket.on("close", () => queue.end());
  webSocket.on("message", (data: Buffer, binary: boolean) => {
    waiting.bytes += data.length;
    if (!queue.push(binary ? data : data.toString("utf8"))) webSocket.terminate();
    if (queue.length >= waitingMessages || waiting.bytes >= waitingBytes) webSocket.pause();
  });
  let cancel = (): void => {};
  const ping = (): void => {
    cancel = parts.clock.after(pingMs, () => {
      if (!alive) return webSocket.terminate();
      alive = false;
      webSocket.ping();
      ping();
    });
  };
  ping();
  try {
    await result.terminal(connectionOf(webSocket, queue, waiting, gone));
    webSocket.close(1000);
  } catch (error) {
    const failure = asHoldfastError(error, parts.logger, "none");
    webSocket.close(1011, failure.code);
  } finally {
    cancel();
  }
};

const connectionOf = (
  webSocket: WebSocket,
  queue: BoundedQueue<Uint8Array | string>,
  waiting: { bytes: number },
  gone: AbortSignal,
): TerminalConnection => ({
  signal: gone,
  messages: {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const message = await queue.next(gone);
        if (message === undefined) return;
        waiting.bytes -= Buffer.byteLength(message);
        if (queue.length < waitingMessages / 2 && waiting.bytes < waitingBytes && webSocket.isPaused)
          webSocket.resume();
        yield message;
      }
    },
  },
  send: (message) =>
    new Promise((resolve, reject) => {
      if (webSocket.readyState !== WebSocket.OPEN)
        return reject(new HoldfastError("unavailable", "the caller went away"));
      // Called back once the bytes have left for the kernel: that is the back-pressure.
      webSocket.send(message, (error) => (error ? reject(error) : resolve()));
    }),
  close: (reason) => webSocket.close(1000, reason),
});

const refuse = (socket: Duplex, problem: Problem): void => {
  if (socket.destroyed) return;
  const headers = {
    ...problem.headers,
    "content-length": String(Buffer.byteLength(problem.body)),
    connection: "close",
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? "Error"}\r\n${head.join("")}\r\n${problem.body}`,
  );
  void once(socket, "finish").then(
    () => socket.destroy(),
    () => socket.destroy(),
  );
};

const pathPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/\{([a-z_]+)\}/g, "(?<$1>[^/]+)")}$`);

const fieldsOf = (pattern: RegExp, path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(pattern.exec(path)?.groups ?? {}).map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value)];
      } catch {
        throw new HoldfastError("malformed_request", `${name} in the path is not valid percent-encoding`);
      }
    }),
  );
