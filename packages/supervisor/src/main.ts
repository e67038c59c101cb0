import {
  firstListenDescriptor,
  supervisorLauncherMethods,
  supervisorMethods,
  type SupervisorLauncherMethods,
} from "@holdfast/contract";
import { createLogger, createRpcServer, systemClock, type RpcHandlers } from "@holdfast/kit";
import { createApp, type App } from "./app.ts";
import { createHandlers, refuseUntilReady, type Serving } from "./handlers.ts";
import { parseConfig } from "./lib/config.ts";
import { startUpkeep } from "./upkeep.ts";

/**
 * Serves the launcher on descriptor 3 and control on descriptor 4 from the first moment; until every layer is proven and running cells
 * are adopted only `health` answers. A layer that cannot be proven keeps it so: nothing runs weaker than promised.
 */
const main = async (): Promise<void> => {
  const clock = systemClock;
  const level = process.env["HOLDFAST_LOG_LEVEL"] === "debug" ? "debug" : "info";
  const logger = createLogger({ program: "supervisor", now: clock.now, level });
  const config = parseConfig(process.argv.slice(2));
  const now: { serving?: Serving; detail: string } = { detail: "starting" };
  const ready = (): Serving => now.serving ?? refuseUntilReady(now.detail);
  const app = await createApp({ config, clock, logger, environment: process.env, purpose: "serve" });

  const handlers = createHandlers(ready);
  const launcherHandlers: RpcHandlers<SupervisorLauncherMethods> = {
    health: async () => ({ ready: now.serving !== undefined, version: "0.1.0", detail: now.detail }),
    info: handlers.info,
    clear: async () => {
      const stopped = await ready().cells.clear();
      await app.dispose();
      now.detail = "cleared";
      return { cells_stopped: stopped };
    },
  };
  await createRpcServer({ methods: supervisorLauncherMethods, handlers: launcherHandlers, logger }).listen({
    fd: firstListenDescriptor,
  });
  await createRpcServer({ methods: supervisorMethods, handlers, logger }).listen({
    fd: firstListenDescriptor + 1,
  });
  process.once("SIGTERM", () => process.exit(0));

  const serving = await begin(app, (problem) => {
    now.detail = problem;
    logger.error("the supervisor does not serve", { problem });
  });
  if (!serving) return;
  now.serving = serving;
  now.detail = "serving";
  startUpkeep({ serving, clock, logger });
  logger.info("serving", { cells: serving.cells.list().length, volumes: serving.volumes.list().length });
};

const begin = async (app: App, refuse: (problem: string) => void): Promise<Serving | undefined> => {
  const layers = await app.prove();
  const missing = layers.filter((layer) => !layer.proven);
  if (missing.length === 0) return app.open(layers);
  refuse(missing.map(({ name, detail, remedy }) => `${name}: ${detail}. ${remedy}`).join("\n"));
  return undefined;
};

await main();
