import { createServer, type Socket } from "node:net";
import { type Clock, listening, type Logger, type TcpPlace } from "@holdfast/kit";
import { readHost, readPlace } from "../head/host.ts";
import { headGoesOn, HeadReader } from "../head/reader.ts";
import { readRequestHead, type RequestHead } from "../head/request.ts";
import type { RouteTable } from "../routes/table.ts";
import type { Page } from "./pages/page.ts";
import { renderPage } from "./pages/render.ts";

export interface AskDoor {
  /** Answers the port. */
  listen(where: TcpPlace): Promise<number>;
  close(): Promise<void>;
}

const askMs = 5000;
const headBytes = 4096;
const connections = 64;

/**
 * Answers a TLS proxy on this host whether it should get a certificate for a name: `GET /ask?domain=<host>`, 200 for the address of a
 * published project, 404 for everything else, so that nobody can have certificates made for names they think up. One request for each
 * connection, read by our own parser: Node's HTTP would cost 15 MB for as good as nothing to do.
 */
export const createAskDoor = (options: {
  readonly domain: string;
  readonly table: RouteTable;
  readonly clock: Clock;
  readonly logger: Logger;
}): AskDoor => {
  const { clock, domain, table } = options;
  const sockets = new Set<Socket>();

  const isPublished = (name: string): boolean => {
    const host = readHost(name);
    const place = host !== undefined && host === name.toLowerCase() ? readPlace(host, domain) : undefined;
    if (!place || place.port !== undefined) return false;
    const published = table.find(place.slug)?.published;
    return published !== undefined && published !== null;
  };

  const answer = (head: RequestHead): Page => {
    const named = head.path === "/ask" ? new URLSearchParams(head.target.slice("/ask".length)) : undefined;
    const yes = head.method === "GET" && isPublished(named?.get("domain") ?? "");
    return yes
      ? { status: 200, title: "Yes", text: ["It is the address of a published project."] }
      : { status: 404, title: "No", text: ["It is no address of a published project."] };
  };

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const reader = new HeadReader(headBytes);
    const cancel = clock.after(askMs, () => socket.destroy());
    const say = (page: Page): void => {
      socket.removeAllListeners("data");
      socket.resume();
      socket.end(renderPage(page, { accept: undefined, bodyless: false, closes: true }));
    };
    socket.on("data", (piece) => {
      const end = reader.read(piece);
      if (end === headGoesOn) return;
      const head = end < 0 ? undefined : readRequestHead(reader.text);
      if (head === undefined || "refused" in head)
        say({ status: 400, title: "No", text: ["The question is not well-formed HTTP."] });
      else say(answer(head));
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      cancel();
      sockets.delete(socket);
    });
  });
  server.maxConnections = connections;

  return {
    listen: async (where) => {
      const port = await listening(server, where);
      server.on("error", (error) => options.logger.error("a question could not be taken", { error }));
      return port;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};
