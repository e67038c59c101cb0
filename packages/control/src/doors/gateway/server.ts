import { controlGatewayMethods, HoldfastError } from "@holdfast/contract";
import { createRpcServer, type Logger, type RpcServer } from "@holdfast/kit";
import type { Visits } from "../../domain/visits.ts";

/**
 * gateway's socket: its alone. It asks with what visitors showed it and has no authority of its own, so nothing here is an operation and
 * nothing runs that a visitor could not bring about. What is sent is checked against the contract before it comes here.
 */
export const createGatewayDoor = (parts: {
  readonly logger: Logger;
  /** Undefined until control has started. */
  readonly visits: () => Visits | undefined;
}): RpcServer => {
  const visits = (): Visits => {
    const started = parts.visits();
    if (started) return started;
    throw new HoldfastError("unavailable", "control is starting: the database is not answering yet");
  };
  return createRpcServer({
    methods: controlGatewayMethods,
    logger: parts.logger,
    handlers: {
      "routes.watch": async (params, signal) => visits()["routes.watch"](params, signal),
      "right.trade": async (params, signal) => visits()["right.trade"](params, signal),
      "right.find": async (params, signal) => visits()["right.find"](params, signal),
      "right.hold": async (params, signal) => visits()["right.hold"](params, signal),
      "project.wake": async (params, signal) => visits()["project.wake"](params, signal),
      "visits.report": async (params, signal) => visits()["visits.report"](params, signal),
      "resting.watch": async (params, signal) => visits()["resting.watch"](params, signal),
      "access.record": async (params, signal) => visits()["access.record"](params, signal),
    },
  });
};
