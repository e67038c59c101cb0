import { HoldfastError } from "@holdfast/contract";
import { createCrashPoint, createIds, createLogger, type LogLevel, systemClock } from "@holdfast/kit";
import { type App, stages, startApp } from "./app.ts";
import { createGatewayDoor } from "./doors/gateway/server.ts";
import { createLauncherDoor } from "./doors/launcher/server.ts";
import type { HttpDoor } from "./doors/http/server.ts";
import { readNodeId } from "./lib/node-id.ts";
import { readOptions } from "./lib/options.ts";
import { version } from "./lib/version.ts";
import { createDoors } from "./serve.ts";

/** The program. Descriptors and flags: `packages/launcher/README.md`. Ends with 0 after SIGTERM, with 1 when it cannot start. */
const main = async (): Promise<void> => {
  const clock = systemClock;
  const level = process.env["HOLDFAST_LOG_LEVEL"];
  const logger = createLogger({ program: "control", now: clock.now, ...(isLevel(level) ? { level } : {}) });
  const options = readOptions(process.argv.slice(2), process.env);
  const ids = createIds(clock);
  const stopping = new AbortController();
  const running: { app?: App; doors?: HttpDoor } = {};

  const launcher = createLauncherDoor({
    version,
    logger,
    stages,
    notReady: () => (running.app ? running.app.notReady() : "starting: waiting for the database"),
    host: () => {
      if (running.app) return running.app.host;
      throw new HoldfastError("unavailable", "control is starting: the database is not answering yet");
    },
  });
  if (options.launcherDescriptor !== undefined) await launcher.listen({ fd: options.launcherDescriptor });
  const gateway = createGatewayDoor({ logger, visits: () => running.app?.visits });
  if (options.gatewayDescriptor !== undefined) await gateway.listen({ fd: options.gatewayDescriptor });

  const stop = async (signal: string): Promise<void> => {
    if (stopping.signal.aborted) return;
    logger.info("ending", { signal });
    stopping.abort();
    running.app?.dispatch.stop();
    await gateway.close();
    await running.doors?.close();
    await running.app?.stop();
    await launcher.close();
    process.exit(0);
  };
  const stopOn = (signal: "SIGTERM" | "SIGINT"): void => {
    process.on(signal, () => {
      stop(signal).catch((error: unknown) => {
        logger.error("did not end well", { error });
        process.exit(1);
      });
    });
  };
  stopOn("SIGTERM");
  stopOn("SIGINT");

  const nodeId = await readNodeId(options.dataDirectory, ids);
  const crashPoint = createCrashPoint(process.env);
  const app = await startApp({ ...options, nodeId, clock, ids, logger, crashPoint }, stopping.signal);
  running.app = app;
  const doors = createDoors({ ...options, app, clock, logger, version });
  running.doors = doors;
  for (const fd of options.httpDescriptors) await doors.listen({ fd });
  if (options.listen) await doors.listen(options.listen);
  logger.info("serving", { address: options.address.origin, version });
};

const isLevel = (level: string | undefined): level is LogLevel =>
  level !== undefined && ["debug", "info", "warn", "error"].includes(level);

main().catch((error: unknown) => {
  // A start that SIGTERM cut short has nothing to report.
  if (error instanceof DOMException && error.name === "AbortError") return;
  process.stderr.write(
    `control cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
});
