import { operations } from "@holdfast/contract";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { ExitWith } from "../errors.ts";
import { print } from "../present/index.ts";
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
            : `${event.type}\t${event.path ?? "some were missed: list again"}\n`,
        );
      }
    },
  },
  "event.stream": {
    run: async ({ app, input }) => {
      const client = await app.client();
      for await (const event of client.events.stream(input)) {
        await app.console.out(
          app.json ? `${JSON.stringify(event)}\n` : `${event.at}  ${event.kind}  ${event.target ?? "-"}\n`,
        );
      }
    },
  },
} satisfies Readonly<Record<string, Override>>;

/** `logs <computer> <service>`: what a service said, and with `--follow` what it says. */
export const addLogs = (parent: Command, app: App): void => {
  parent
    .command("logs")
    .summary(operations["service.logs"].summary)
    .description("Prints the end of a service's log; --follow goes on with what comes.")
    .argument("<computer>", "The computer: its id or name")
    .argument("<service>", "The service: its id or name")
    .option("-f, --follow", "Go on with what comes")
    .option("--cursor <number>", "Begin here instead of near the end")
    .action(async (computer: string, service: string, values: { follow?: boolean; cursor?: string }) => {
      const client = await app.client();
      let cursor = values.cursor === undefined ? undefined : Number(values.cursor);
      for (;;) {
        const follows = cursor !== undefined && values.follow === true;
        const part = await client.services.logs({
          computer,
          service,
          ...(cursor === undefined ? {} : { cursor }),
          ...(follows ? { wait_ms: 20_000 } : {}),
        });
        if (app.json) await print(app, "service.logs", part);
        else await app.console.out(part.text);
        cursor = part.next_cursor;
        if (!part.more && values.follow !== true) return;
      }
    });
};
