import { ExitWith } from "../errors.ts";
import { printableLine } from "../terminal/printable.ts";
import type { Override } from "./from-operation.ts";
import { untilInterrupted } from "./until-interrupted.ts";

/** Streams for people: one line for each event, one JSON object a line with `--json`. */
export const followOverrides = {
  "process.follow": {
    run: ({ app, input }) =>
      untilInterrupted(async (signal) => {
        const client = await app.client();
        const place = input as { computer: string; process: string };
        for await (const event of client.processes.follow(place, { signal })) {
          if (app.json) {
            const plain =
              event.type === "output"
                ? { ...event, bytes: undefined, base64: Buffer.from(event.bytes).toString("base64") }
                : event;
            await app.console.out(`${JSON.stringify(plain)}\n`);
          } else if (event.type === "output") {
            await (event.stream === "stdout"
              ? app.console.out(event.bytes)
              : app.console.errOut(event.bytes));
          } else if (event.type === "dropped") app.console.say(`(${event.bytes} bytes are no longer kept)`);
          if (event.type === "end") throw new ExitWith(event.process.exit_code ?? 1);
        }
      }),
  },
  "file.watch": {
    run: ({ app, input }) =>
      untilInterrupted(async (signal) => {
        const client = await app.client();
        for await (const event of client.files.watch(input as { computer: string; path: string }, {
          signal,
        })) {
          await app.console.out(
            app.json
              ? `${JSON.stringify(event)}\n`
              : `${event.type}\t${printableLine(event.path ?? "some were missed: list again")}\n`,
          );
        }
      }),
  },
  "event.stream": {
    run: ({ app, input }) =>
      untilInterrupted(async (signal) => {
        const client = await app.client();
        for await (const event of client.events.stream(input, { signal })) {
          await app.console.out(
            app.json ? `${JSON.stringify(event)}\n` : `${event.at}  ${event.kind}  ${event.target ?? "-"}\n`,
          );
        }
      }),
  },
} satisfies Readonly<Record<string, Override>>;
