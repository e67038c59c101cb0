import { createCrashPoint, createLogger, systemClock } from "@holdfast/kit";
import { readSettings } from "./instance/settings.ts";
import { runLauncher } from "./launcher.ts";

// The launcher of one instance: `main.ts <data directory>`. Started under a keeper by `holdfast up`. SIGTERM ends it and leaves the
// programs running.
const data = process.argv[2];
if (data === undefined || process.getuid?.() !== 0) {
  process.stderr.write("usage, as root: main.ts <data directory>. People use `holdfast up`.\n");
  process.exit(64);
}
const settings = await readSettings(data);
if (!settings) {
  process.stderr.write(`There is no instance in ${data}. Run \`holdfast up\`.\n`);
  process.exit(66);
}
const logger = createLogger({ program: "launcher", now: () => systemClock.now() });
const abort = new AbortController();
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
  process.on(name, () => abort.abort(new Error(name)));
logger.info("watching", { instance: settings.instance });
await runLauncher({
  settings,
  clock: systemClock,
  random: Math.random,
  logger,
  crashPoint: createCrashPoint(process.env),
  signal: abort.signal,
});
logger.info("leaves the programs running");
// RPC connections of health checks would keep the process.
process.exit(0);
