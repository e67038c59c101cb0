import { Server, type Transport } from "@modelcontextprotocol/server";
import { serveStdio, type StdioServerHandle } from "@modelcontextprotocol/server/stdio";
import { Upstream, type UpstreamOptions } from "./upstream.ts";

/**
 * Serves MCP on `transport` by passing every request on to `/mcp`: the tools, their words and their results are the
 * server's own. Requests are stateless there, so a restart of Holdfast is only a pause.
 */
export const serveBridge = (options: UpstreamOptions, transport: Transport): StdioServerHandle => {
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
    { onerror: options.onError, transport },
  );
};
