import { HoldfastError } from "@holdfast/contract";
import type { Dispatch, Entrance, Held } from "../../domain/dispatch.ts";
import type { Principal } from "../../domain/principal.ts";
import { type Caller, createMcpEndpoint, type McpEndpoint } from "./endpoint.ts";
import { createServerFactory } from "./server.ts";

export interface McpDoorOptions {
  readonly dispatch: Dispatch;
  /** Of this Holdfast; shown to clients. */
  readonly version: string;
  readonly allowHost: (host: string) => boolean;
  readonly allowOrigin: (origin: string) => boolean;
  readonly onError: (error: Error) => void;
}

/** The MCP door: an endpoint whose tools are the operations, and whose every call goes through dispatch. Mount it at `/mcp`. */
export const createMcpDoor = (options: McpDoorOptions): McpEndpoint =>
  createMcpEndpoint({
    ...options,
    factory: createServerFactory(options.dispatch, options.version),
    authenticate: callersOf(options.dispatch),
  });

export interface PrincipalCaller extends Caller {
  readonly principal: Principal;
  readonly hold: Held;
  readonly entrance: Entrance;
}

/** Knows who asks by their key, and lets them in as dispatch counts them. */
export const callersOf =
  (dispatch: Dispatch) =>
  async (request: Request, address: string): Promise<PrincipalCaller | undefined> => {
    const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    try {
      const source = { door: "mcp", address } as const;
      // Who brings none is refused there too: a refusal is recorded.
      const credential = token === "" ? ({ kind: "none" } as const) : ({ kind: "bearer", token } as const);
      const principal = await dispatch.identify(credential, source);
      if (principal.kind === "anonymous") return undefined;
      // The protocol refuses a body that asks for another method than this header names.
      const listens = request.headers.get("mcp-method") === "subscriptions/listen";
      const entrance = dispatch.enter(principal, listens ? "stream" : "request", source);
      return { principal, token, address, hold: dispatch.hold(principal), entrance };
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "unauthenticated") return undefined;
      throw error;
    }
  };
