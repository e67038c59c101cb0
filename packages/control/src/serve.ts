import type { Clock, Logger } from "@holdfast/kit";
import type { App } from "./app.ts";
import { sessionCookieName } from "./doors/http/credential.ts";
import { createHostRules } from "./doors/http/hosts.ts";
import { createHttpDoor, type HttpDoor } from "./doors/http/server.ts";

/** The HTTP side of a started app. Descriptions and the MCP door are loaded when first asked for: most of their weight is never used. */
export const createDoors = (parts: {
  readonly app: App;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly address: URL;
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  readonly allowHosts: readonly string[];
  readonly version: string;
}): HttpDoor => {
  const { address, projectsAddress, app, clock, logger, version } = parts;
  const hosts = createHostRules(parts.allowHosts);
  const mcp = once(async () => {
    const { createMcpDoor } = await import("./doors/mcp/index.ts");
    return createMcpDoor({
      dispatch: app.dispatch,
      version,
      allowHost: (host) => hosts.allowsHost(host),
      allowOrigin: (origin) => hosts.allowsOrigin(origin),
      onError: (error) => logger.info("an MCP request was refused", { error }),
    });
  });
  return createHttpDoor({
    dispatch: app.dispatch,
    hosts,
    clock,
    logger,
    address,
    cookieName: sessionCookieName(address),
    mcp: async (request, from, readBody) => (await mcp()).fetch(request, from, readBody),
    front: async () => {
      const { frontPage, frontPolicy } = await import("./doors/http/front.ts");
      return { body: frontPage, policy: frontPolicy };
    },
    pages: {
      "/openapi.json": once(async () => {
        const { openApiDocument } = await import("./doors/http/openapi.ts");
        const document = openApiDocument({ version, address: address.origin });
        return { contentType: "application/json", body: `${JSON.stringify(document)}\n` };
      }),
      "/reference": once(async () => {
        const { referencePage } = await import("./doors/http/reference.ts");
        return { contentType: "text/html; charset=utf-8", body: referencePage({ version }) };
      }),
      "/sign-in": async (query) => {
        const { signInPage } = await import("./doors/http/sign-in.ts");
        return {
          contentType: "text/html; charset=utf-8",
          body: signInPage({ to: query("to"), projectsAddress }),
        };
      },
      "/healthz": () => {
        const missing = app.notReady();
        return Promise.resolve({
          contentType: "application/json",
          body: `${JSON.stringify({ ready: missing === undefined, version })}\n`,
        });
      },
    },
  });
};

/** Made at the first call and kept; a failure is not kept. */
const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
};
