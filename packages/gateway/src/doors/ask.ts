import { createServer } from "node:http";
import type { Server } from "node:net";
import { refuseRawHead } from "@holdfast/kit";
import { readHost, readPlace } from "../head/host.ts";
import type { RouteTable } from "../routes/table.ts";

export interface AskDoor {
  listen(where: { readonly fd: number } | { readonly host: string; readonly port: number }): Promise<number>;
  close(): Promise<void>;
}

const askMs = 5000;
const askHeadBytes = 4096;
const connections = 64;

/**
 * Answers a TLS proxy on this host whether it should get a certificate for a name: `GET /ask?domain=<host>`, 200 for the address of a
 * published project, 404 for everything else, so that nobody can have certificates made for names they think up.
 */
export const createAskDoor = (options: { readonly domain: string; readonly table: RouteTable }): AskDoor => {
  const server: Server = createServer(
    { maxHeaderSize: askHeadBytes, headersTimeout: askMs, requestTimeout: askMs, keepAliveTimeout: askMs },
    (request, response) => {
      const refused = refuseRawHead(request) ?? (request.method === "GET" ? undefined : "only GET is taken");
      const url = new URL(request.url ?? "/", "http://ask");
      const named = url.pathname === "/ask" ? (url.searchParams.get("domain") ?? "") : "";
      const host = readHost(named);
      const place =
        host === named.toLowerCase() && host !== undefined ? readPlace(host, options.domain) : undefined;
      const route = place?.port === undefined && place ? options.table.find(place.slug) : undefined;
      const yes = refused === undefined && route !== undefined && route.published !== null;
      const status = refused === undefined ? (yes ? 200 : 404) : 400;
      response.writeHead(status, { "content-type": "text/plain", "cache-control": "no-store" });
      response.end(`${refused ?? (yes ? "yes" : "no")}\n`);
    },
  );
  server.maxConnections = connections;
  return {
    listen: (where) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(where, () => {
          server.removeListener("error", reject);
          const address = server.address();
          resolve(address !== null && typeof address === "object" ? address.port : 0);
        });
      }),
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
};
