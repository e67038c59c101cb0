import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { HoldfastError, limits } from "@holdfast/contract";
import { listening, refuseRawHead, type TcpPlace } from "@holdfast/kit";
import { problemOf } from "./problem.ts";
import { sendText } from "./reply.ts";
import { createRoutes, type RouteParts } from "./routes.ts";
import { createUpgrades } from "./terminal.ts";
import { createUnsent } from "./unsent.ts";

const connectionsLimit = 2048;
const headMs = 10_000;
const idleMs = 65_000;
/** What a shutdown leaves to requests under way, which it has aborted, to end by themselves. */
const graceMs = 3000;

export interface HttpDoor {
  /** Answers the port. */
  listen(where: TcpPlace): Promise<number>;
  /** Stops accepting, waits a little for what is under way, then ends the rest. */
  close(): Promise<void>;
}

/** REST, the MCP endpoint, SSE and WebSockets on plain HTTP/1.1. The raw head is judged before anything else looks at a request. */
export const createHttpDoor = (parts: RouteParts): HttpDoor => {
  const listener = getRequestListener(createRoutes(parts).fetch, {
    overrideGlobalObjects: false,
    // Bodies that nobody reads are thrown away here, within bounds.
    autoCleanupIncoming: false,
  });
  const upgrades = createUpgrades(parts);
  const unsent = createUnsent(parts.clock);
  const servers: Server[] = [];

  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    unsent.watch(outgoing);
    const bad = refuseRawHead(incoming);
    if (bad === undefined && (incoming.url ?? "").length <= limits.urlBytes)
      return void listener(incoming, outgoing);
    const error =
      bad === undefined
        ? new HoldfastError("too_large", "the request target is too long", { limit: limits.urlBytes })
        : new HoldfastError("malformed_request", bad);
    const { status, headers, body } = problemOf(error);
    sendText(parts.clock, outgoing, status, { ...headers, connection: "close" }, body);
  };

  const open = (): Server => {
    const server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: headMs,
      // Bodies have their own time limits, by kind: an upload may take hours.
      requestTimeout: 0,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: 2000,
      requireHostHeader: false,
      highWaterMark: 128 * 1024,
      noDelay: true,
    });
    server.maxConnections = connectionsLimit;
    server.on("request", handle);
    // Whoever asks first is told to go on when the body is wanted.
    server.on("checkContinue", handle);
    server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
      upgrades.handle(incoming, socket, head),
    );
    server.on("connect", (_incoming, socket: Duplex) => socket.end(malformed("CONNECT is not spoken here")));
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
      socket.end(
        malformed(error.code === "HPE_HEADER_OVERFLOW" ? "the head is too large" : "this is not HTTP"),
      );
    });
    return server;
  };

  return {
    listen: async (where) => {
      const server = open();
      const port = await listening(server, where);
      servers.push(server);
      return port;
    },
    close: async () => {
      upgrades.close();
      await Promise.all(
        servers.map(async (server) => {
          const closed = new Promise<void>((resolve) => server.close(() => resolve()));
          server.closeIdleConnections();
          const cancel = parts.clock.after(graceMs, () => server.closeAllConnections());
          await closed;
          cancel();
        }),
      );
    },
  };
};

const malformed = (message: string): string => {
  const { status, headers, body } = problemOf(new HoldfastError("malformed_request", message));
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  });
  return `HTTP/1.1 ${status} Bad Request\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
};
