import { randomBytes, randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import {
  type LegacyHttpHandler,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { createMcpEndpoint } from "../../../packages/control/src/doors/mcp/endpoint.ts";
import { createFixtureServer } from "./fixtures/index.ts";

export interface FixtureInstance {
  readonly url: string;
  /** What the endpoint reported out of band. */
  readonly errors: readonly Error[];
  close(): Promise<void>;
}

/** Serves the suite's fixtures on loopback through the product's own endpoint, without keys: control's `main` has no such mode. */
export const serveFixtures = async (): Promise<FixtureInstance> => {
  const stateKey = randomBytes(32);
  const errors: Error[] = [];
  const local = (value: string): boolean => /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(value);
  const endpoint = createMcpEndpoint({
    factory: () => createFixtureServer(stateKey),
    authenticate: async (_request, address) => ({ principal: null, token: "none", address }),
    allowHost: local,
    allowOrigin: (origin) => URL.canParse(origin) && local(new URL(origin).host),
    onError: (error) => void errors.push(error),
    legacy: sessions(stateKey),
  });
  const server = serve({
    fetch: (request) => endpoint.fetch(request, "127.0.0.1"),
    hostname: "127.0.0.1",
    port: 0,
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    errors,
    close: async () => {
      await endpoint.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** 2025-era fixtures call the client back, which only a session can carry. */
const sessions = (stateKey: Uint8Array): LegacyHttpHandler => {
  const open = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : open.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) return new Response("No such session", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (created) => void open.set(created, transport),
      onsessionclosed: (closed) => void open.delete(closed),
    });
    await createFixtureServer(stateKey).connect(transport);
    return transport.handleRequest(request);
  };
};
