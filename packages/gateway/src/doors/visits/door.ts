import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { limits } from "@holdfast/contract";
import { type Clock, listening, type Logger, type TcpPlace } from "@holdfast/kit";
import type { Certificate } from "../../lib/certificate.ts";
import { Connection } from "./connection.ts";
import { createLedger, type Seat } from "./ledger.ts";
import type { RouteChange, Shared } from "./shared.ts";
import { addressOf, isLoopback } from "./visitor-address.ts";

export interface VisitDoor {
  /** Answers the port. */
  listen(where: TcpPlace): Promise<number>;
  /** From now on; connections that stand keep theirs. Throws when it is none. */
  useCertificate(certificate: Certificate): void;
  routeChanged(change: RouteChange): void;
  sweep(): void;
  /** Takes no more visitors and lets those under way finish, for at most `withinMs`. */
  close(withinMs: number): Promise<void>;
  readonly sockets: number;
}

const backlog = 4096;
/** For connections to control, idle ones into computers, and whatever Node opens. */
const keptDescriptors = 500;
const closingLookMs = 50;
/** When there is no seat left: visitors who let it wait this long, so many of them, and not more often than this. */
const stalledMs = 3000;
const evictedTogether = 64;
const evictEveryMs = 100;

/** Listens for visitors: plain HTTP, or TLS when there is a certificate. */
export const createVisitDoor = (options: {
  readonly shared: Omit<Shared, "ending">;
  readonly certificate: Certificate | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Descriptors of this process: a visitor takes one, and one more into a computer. */
  readonly descriptors: number;
}): VisitDoor => {
  const { certificate, clock, logger } = options;
  const ledger = createLedger(
    Math.min(limits.visitSockets, Math.max(1, Math.floor((options.descriptors - keptDescriptors) / 2))),
  );
  /** Of sockets whose TLS handshake is under way, by the peer. */
  const shakingHands = new Map<string, Seat>();
  const connections = new Set<Connection>();
  const servers: Server[] = [];
  const tlsServers: ReturnType<typeof createTlsServer>[] = [];
  let ending = false;
  let evictedAt = -Infinity;
  const shared: Shared = { ...options.shared, ending: () => ending };

  /** All who are served make no room for others, however long they let it wait: then the longest-waiting go. */
  const evictStalled = (): boolean => {
    const now = clock.monotonic();
    if (now - evictedAt < evictEveryMs) return false;
    evictedAt = now;
    const stalled = [...connections]
      .map((connection) => ({ connection, since: connection.stalledSince() ?? now }))
      .filter(({ since }) => now - since > stalledMs)
      .toSorted((one, other) => one.since - other.since);
    for (const { connection } of stalled.slice(0, evictedTogether)) connection.destroy();
    return stalled.length > 0;
  };

  const seat = (socket: Socket): Seat | undefined => {
    const address = addressOf(socket);
    const counted = !(shared.believesProxy && isLoopback(address));
    const taken =
      ledger.seat(address, counted) ?? (evictStalled() ? ledger.seat(address, counted) : undefined);
    if (taken) socket.on("close", () => taken.leave());
    else socket.destroy();
    return taken;
  };
  const serve = (socket: Socket, taken: Seat): void => {
    const connection = new Connection(socket, taken, shared);
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
  };

  const plain = (): Server =>
    createServer({ allowHalfOpen: true }, (socket) => {
      const taken = seat(socket);
      if (taken) serve(socket, taken);
    });

  const secure = ({ chain, key }: Certificate): Server => {
    const server = createTlsServer({
      cert: chain,
      key,
      allowHalfOpen: true,
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: limits.visitHeadMs,
      minVersion: "TLSv1.2",
    });
    server.on("connection", (socket: Socket) => {
      const taken = seat(socket);
      if (!taken) return;
      const peer = peerOf(socket);
      shakingHands.set(peer, taken);
      socket.on("close", () => shakingHands.delete(peer));
      taken.waits({ evict: () => socket.destroy() });
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      const peer = peerOf(socket);
      const taken = shakingHands.get(peer);
      shakingHands.delete(peer);
      if (taken) serve(socket, taken);
      else socket.destroy();
    });
    server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
    tlsServers.push(server);
    return server;
  };

  return {
    listen: async (where) => {
      const server = certificate ? secure(certificate) : plain();
      const port = await listening(server, { ...where, backlog });
      server.on("error", (error) => logger.error("a visitor could not be taken", { error }));
      servers.push(server);
      return port;
    },
    useCertificate: ({ chain, key }) => {
      for (const server of tlsServers) server.setSecureContext({ cert: chain, key });
    },
    routeChanged: (change) => {
      for (const connection of connections) connection.routeChanged(change);
    },
    sweep: () => {
      const now = clock.monotonic();
      for (const connection of connections) connection.sweep(now);
    },
    close: async (withinMs) => {
      ending = true;
      for (const server of servers) server.close();
      for (const connection of connections) connection.finish();
      const until = clock.monotonic() + withinMs;
      while (connections.size > 0 && clock.monotonic() < until) await clock.sleep(closingLookMs);
      for (const connection of connections) connection.destroy();
    },
    get sockets() {
      return ledger.taken;
    },
  };
};

const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`;
