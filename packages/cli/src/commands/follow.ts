import { exitCodes, ExitWith } from "../errors.ts";
import { asAsked } from "../owner/as-owner.ts";
import { printableLine } from "../terminal/printable.ts";
import type { Override } from "./from-operation.ts";

/** Streams for people: one line for each event, one JSON object a line with `--json`. */
export const followOverrides = {
  "process.follow": {
    run: async ({ app, input }) => {
      const client = await app.client();
      for await (const event of client.processes.follow(input as { computer: string; process: string })) {
        if (app.json) {
          const plain =
            event.type === "output"
              ? { ...event, bytes: undefined, base64: Buffer.from(event.bytes).toString("base64") }
              : event;
          await app.console.out(`${JSON.stringify(plain)}\n`);
        } else if (event.type === "output") {
          await (event.stream === "stdout" ? app.console.out(event.bytes) : app.console.errOut(event.bytes));
        } else if (event.type === "dropped") app.console.say(`(${event.bytes} bytes are no longer kept)`);
        if (event.type === "end") throw new ExitWith(event.process.exit_code ?? 1);
      }
    },
  },
  "file.watch": {
    run: async ({ app, input }) => {
      const client = await app.client();
      for await (const event of client.files.watch(input as { computer: string; path: string })) {
        await app.console.out(
          app.json
            ? `${JSON.stringify(event)}\n`
            : `${event.type}\t${printableLine(event.path ?? "some were missed: list again")}\n`,
        );
      }
    },
  },
  "event.stream": {
    run: ({ app, input }) =>
      untilInterrupted((signal) =>
        asAsked(app, async (client) => {
          for await (const event of client.events.stream(input, { signal })) {
            await app.console.out(
              app.json
                ? `${JSON.stringify(event)}\n`
                : `${event.at}  ${event.kind}  ${event.target ?? "-"}\n`,
            );
          }
        }),
      ),
  },
} satisfies Readonly<Record<string, Override>>;

/** Ends with Ctrl-C, after what is to be done at the end: an owner is signed out. */
const untilInterrupted = async (run: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.on("SIGINT", interrupt);
  try {
    await run(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    process.off("SIGINT", interrupt);
  }
  if (stop.signal.aborted) throw new ExitWith(exitCodes.interrupted);
};
