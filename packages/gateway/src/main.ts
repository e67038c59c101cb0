/**
 * The program. It takes no flags. What it wants of the launcher:
 *
 * | variable | meaning |
 * | --- | --- |
 * | `HOLDFAST_INSTANCE` | the instance's name |
 * | `HOLDFAST_DOMAIN` | projects are `<slug>.<domain>`, their other ports `<port>--<slug>.<domain>`; no port, lower case, like `localhost` |
 * | `HOLDFAST_ADDRESS` | origin of control's API, like `http://127.0.0.1:7300`: where the pages send people to sign in |
 * | `HOLDFAST_TLS` | `none` (default: plain HTTP), `own` (certificate below), `proxy` (a TLS proxy on this host speaks plain HTTP to us) |
 * | `HOLDFAST_TLS_CERTIFICATE`, `HOLDFAST_TLS_KEY` | with `own` only: absolute paths of PEM files that uid hf-gateway can read; read again when they change |
 * | `HOLDFAST_LAUNCHER_DESCRIPTOR` | `3`: `gateway/launcher.sock`, listening (`health`); empty or `none`: there is none |
 * | `HOLDFAST_ASK_DESCRIPTOR` | `4`: a TCP listener on loopback for `GET /ask?domain=…`; empty or `none`: there is none |
 * | `HOLDFAST_VISIT_DESCRIPTORS` | `5` or `5,6,…`: TCP listeners for visitors (http, or https with `own`) |
 * | `HOLDFAST_CONTROL_SOCKET` | only in tests; default `/run/holdfast/<instance>/control/gateway.sock` |
 * | `HOLDFAST_LOG_LEVEL` | as for every program |
 *
 * Descriptors in this order: 3 launcher socket, 4 `ask`, 5… visitors. It connects to control's socket for gateway and to
 * `cells/<computer>/ingress.sock` (both group hf-gateway, and their directories must let it pass), and opens no other file but the
 * certificate. With fewer than 24,500 descriptors it takes fewer visitors at a time than `limits.visitSockets`. SIGTERM: takes no more
 * visitors, gives those under way 5 s, ends with 0.
 */
import { createLogger, systemClock } from "@holdfast/kit";
import { type App, startApp } from "./app.ts";
import { createLauncherDoor } from "./doors/launcher.ts";
import { descriptorLimit, lacksDescriptors } from "./lib/descriptors.ts";
import { version } from "./lib/version.ts";
import { readCertificate, watchCertificate } from "./lib/certificate.ts";
import { readOptions } from "./options.ts";

const routesWithinMs = 2000;
const routesLookMs = 10;

const main = async (): Promise<void> => {
  const clock = systemClock;
  const level = process.env["HOLDFAST_LOG_LEVEL"] === "debug" ? "debug" : "info";
  const logger = createLogger({ program: "gateway", now: clock.now, level });
  const options = readOptions(process.env);
  const running: { app?: App } = {};
  const launcher = createLauncherDoor({
    version,
    logger,
    notReady: async () => (running.app ? running.app.notReady() : "starting") ?? (await lacksDescriptors()),
    detail: () => running.app?.detail() ?? "starting",
  });
  if (options.launcherDescriptor !== undefined) await launcher.listen({ fd: options.launcherDescriptor });

  const files = options.certificate;
  const certificate = files && (await readCertificate(files));
  const app = startApp({ ...options, certificate, clock, logger, descriptors: await descriptorLimit() });
  running.app = app;
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    await app.stop();
    await launcher.close();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      stop().catch((error: unknown) => {
        logger.error("did not end well", { error });
        process.exit(1);
      });
    });
  }
  // Visitors of a start wait in the listeners' queues for what control says, which is mostly there in no time.
  for (const end = clock.monotonic() + routesWithinMs; app.notReady() !== undefined; ) {
    if (clock.monotonic() > end || stopping.signal.aborted) break;
    await clock.sleep(routesLookMs);
  }
  for (const fd of options.visitDescriptors) await app.visits.listen({ fd });
  if (options.askDescriptor !== undefined) await app.ask.listen({ fd: options.askDescriptor });
  logger.info("serving", { domain: options.domain, tls: options.tls, version });
  if (files)
    await watchCertificate({ files, use: app.visits.useCertificate, clock, logger, signal: stopping.signal });
};

// Imported, it only is compiled: what is kept of that spares the program Node's own compiler of types, and 15 MB.
if (import.meta.main) {
  main().catch((error: unknown) => {
    process.stderr.write(
      `gateway cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  });
}
