import {
  Server,
  type McpServerFactory,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type { Dispatch } from "../../domain/dispatch.ts";
import { callTool } from "./call.ts";
import type { PrincipalCaller } from "./door.ts";
import { instructions } from "./instructions.ts";
import { createTools } from "./tools.ts";

const listTtlMs = 5 * 60_000;

/**
 * Makes the server of one request. The low-level `Server` and not `McpServer`, which would validate arguments before dispatch sees
 * them: a refused call must be recorded like any other.
 */
export const createServerFactory = (dispatch: Dispatch, version: string): McpServerFactory => {
  const tools = createTools();
  return ({ authInfo }) => {
    const caller = authInfo?.extra?.["caller"] as PrincipalCaller | undefined;
    if (!caller) throw new Error("The endpoint lets nobody in without a caller.");
    // oxlint-disable-next-line typescript/no-deprecated -- not gone but "for advanced use": see above why it must be this one.
    const server = new Server(
      { name: "holdfast", title: "Holdfast", version },
      {
        capabilities: { tools: {} },
        instructions,
        cacheHints: {
          "tools/list": { ttlMs: listTtlMs, cacheScope: "private" },
          "server/discover": { ttlMs: listTtlMs, cacheScope: "private" },
        },
      },
    );
    const offered = () => tools.filter(({ operation }) => dispatch.offers(caller.principal, operation.name));
    server.setRequestHandler("tools/list", () => {
      // Many may come in one request, and each answer is large.
      caller.entrance.answering();
      return { tools: offered().map(({ tool }) => tool) };
    });
    server.setRequestHandler("tools/call", (request, context) => {
      const entry = offered().find(({ tool }) => tool.name === request.params.name);
      if (!entry) {
        caller.entrance.answering();
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Unknown tool: ${request.params.name.slice(0, 128)}. See tools/list.`,
        );
      }
      return callTool(dispatch, entry, request.params.arguments ?? {}, caller, context.mcpReq.signal);
    });
    return server;
  };
};
