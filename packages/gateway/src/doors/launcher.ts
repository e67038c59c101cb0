import { gatewayLauncherMethods } from "@holdfast/contract";
import { createRpcServer, type Logger, type RpcServer } from "@holdfast/kit";

/** Answers the launcher. */
export const createLauncherDoor = (options: {
  readonly version: string;
  readonly logger: Logger;
  /** What is missing, or undefined when visitors are served; and a word about how things are. */
  readonly notReady: () => Promise<string | undefined>;
  readonly detail: () => string;
}): RpcServer =>
  createRpcServer({
    methods: gatewayLauncherMethods,
    logger: options.logger,
    handlers: {
      health: async () => {
        const missing = await options.notReady();
        return {
          ready: missing === undefined,
          version: options.version,
          detail: missing ?? options.detail(),
        };
      },
    },
  });
