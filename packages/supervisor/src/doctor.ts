import { createLogger, systemClock } from "@holdfast/kit";
import { createApp } from "./app.ts";
import { parseConfig } from "./lib/config.ts";

/**
 * Proves each layer without serving, for `holdfast doctor`: takes the supervisor's flags, prints `{"layers": [...]}`, and ends with 1 when
 * one cannot be proven. Safe beside a running supervisor: trials have names of their own.
 */
const config = parseConfig(process.argv.slice(2));
const logger = createLogger({ program: "doctor", now: systemClock.now });
const app = await createApp({ config, clock: systemClock, logger, environment: {}, purpose: "doctor" });
const layers = await app.prove();
process.stdout.write(`${JSON.stringify({ layers }, undefined, 2)}\n`);
process.exitCode = layers.every((layer) => layer.proven) ? 0 : 1;
