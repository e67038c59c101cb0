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
import { createBound } from "./lib/turns.ts";
import { startUpkeep } from "./upkeep.ts";

/**
 * Serves the launcher on descriptor 3 and control on descriptor 4 from the first moment; until every layer is proven and running cells
 * are adopted only `health` and `clear` answer. A layer that cannot be proven keeps it so, and is tried again from time to time: nothing
 * runs weaker than promised, and what is mended on the host needs no restart here. Leases end all the same.
 */
const main = async (): Promise<void> => {
  const clock = systemClock;
  const level = process.env["HOLDFAST_LOG_LEVEL"] === "debug" ? "debug" : "info";
  const logger = createLogger({ program: "supervisor", now: clock.now, level });
  const config = parseConfig(process.argv.slice(2));
  const now: { serving?: Serving; cleared: boolean; detail: string } = { cleared: false, detail: "starting" };
  const ready = (): Serving => now.serving ?? refuseUntilReady(now.detail);
  const app = await createApp({ config, clock, logger, environment: process.env, purpose: "serve" });
  const inTurn = createBound(1);

  const handlers = createHandlers(ready);
  const launcherHandlers: RpcHandlers<SupervisorLauncherMethods> = {
    health: async () => ({ ready: now.serving !== undefined, version: "0.1.0", detail: now.detail }),
    info: handlers.info,
    clear: () =>
      inTurn(async () => {
        now.cleared = true;
        const stopped = await (now.serving ? now.serving.cells.clear() : app.takeDownAll());
        await app.dispose();
        now.detail = "cleared";
        return { cells_stopped: stopped };
      }),
  };
  await createRpcServer({ methods: supervisorLauncherMethods, handlers: launcherHandlers, logger }).listen({
    fd: firstListenDescriptor,
  });
  await createRpcServer({ methods: supervisorMethods, handlers, logger }).listen({
    fd: firstListenDescriptor + 1,
  });
  process.once("SIGTERM", () => process.exit(0));

  while (!now.serving && !now.cleared) {
    await inTurn(async () => {
      if (now.cleared) return;
      try {
        now.serving = await begin(app);
        now.detail = "serving";
      } catch (error) {
        now.detail = error instanceof Error ? error.message : String(error);
        logger.error("the supervisor does not serve; it is tried again", { problem: now.detail, error });
        await app.endLeases().catch((cause: unknown) => {
          logger.error("leases that have ended could not be looked for", { error: cause });
        });
      }
    });
    if (!now.serving) await clock.sleep(retryMs);
  }
  if (!now.serving) return;
  startUpkeep({ serving: now.serving, clock, logger });
  const { cells, volumes } = now.serving;
  logger.info("serving", { cells: cells.list().length, volumes: volumes.list().length });
};

const retryMs = 15_000;

/** Throws naming each layer that cannot be proven. */
const begin = async (app: App): Promise<Serving> => {
  const layers = await app.prove();
  const missing = layers.filter((layer) => !layer.proven);
  if (missing.length === 0) return app.open(layers);
  throw new Error(missing.map(({ name, detail, remedy }) => `${name}: ${detail}. ${remedy}`).join("\n"));
};

await main();
