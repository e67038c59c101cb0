import type { OperationInput } from "@holdfast/contract";
import type { HoldfastClient } from "@holdfast/sdk";
import type { App } from "../app.ts";
import { CliError, exitCodes, ExitWith, explain } from "../errors.ts";
import type { Override, VerbCall } from "./from-operation.ts";
import { attachTerminal, terminalSize } from "./terminal.ts";
import { pause } from "../lib/time.ts";

type Start = OperationInput<"process.start">;

const inlineInputBytes = 512 * 1024;

/** `exec`: runs a command as if it were here: its output as it comes, its exit code as ours. */
export const execOverride: Override = {
  description:
    "Runs a command on the computer, with its output here as it comes and its exit code as ours. Wakes the computer if needed. Give words after --, or a shell line with --command.",
  omit: ["stdin", "stdin_base64", "wait_ms", "max_output_bytes", "encoding"],
  extend: (command) =>
    command
      .option("-i, --stdin", "Pass standard input on to the command")
      .option("-t, --terminal", "Run it on a terminal")
      .addHelpText(
        "after",
        [
          "",
          "The exit code is the command's own: 128 + n when signal n ended it, 125 when it could not be run at all.",
          "Ctrl-C is sent to the command; a second one leaves it running.",
          "",
          "Examples:",
          "  holdfast exec box -- ls -la /work",
          "  holdfast exec box --command 'npm test 2>&1 | tail -20'",
          "  holdfast exec box --stdin -- tar xf - -C /work < project.tar",
        ].join("\n"),
      ),
  complete: (_app, input) => {
    if (input["argv"] === undefined && input["command"] === undefined) {
      throw new CliError(
        "There is no command to run",
        "Neither words after -- nor --command were given.",
        "For example: holdfast exec box -- ls -la. For a shell: holdfast terminal box.",
        exitCodes.usage,
      );
    }
    return input;
  },
  run: async (call) => {
    try {
      await exec(call);
    } catch (error) {
      if (error instanceof ExitWith || error instanceof CliError) throw error;
      const told = explain(error);
      throw new CliError(told.title, told.cause, told.next, exitCodes.execFailed);
    }
  },
};

const exec = async ({ app, input, values, idempotencyKey }: VerbCall): Promise<void> => {
  const client = await app.client();
  const options = idempotencyKey === undefined ? {} : { idempotencyKey };
  const streamsInput = values["stdin"] === true;
  if (values["terminal"] === true) {
    const started = await client.processes.start({ ...input, terminal: terminalSize(app) } as Start, options);
    return attachTerminal(app, client, started, 0);
  }
  const started = await client.processes.start({ ...input, stdin_open: streamsInput } as Start, options);
  const feeding = streamsInput ? feed(app, client, started.computer, started.id) : Promise.resolve();
  const end = await follow(app, client, started.computer, started.id);
  await feeding;
  if (app.json) await app.console.out(`${JSON.stringify(end)}\n`);
  throw new ExitWith(end.exit_code ?? exitCodes.execFailed);
};

/** With `--json` the result object is the data, so the output joins it: both as text. */
type Ended = Awaited<ReturnType<HoldfastClient["processes"]["get"]>> & { stdout?: string; stderr?: string };

const follow = async (app: App, client: HoldfastClient, computer: string, id: string): Promise<Ended> => {
  const stop = new AbortController();
  const collected = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts += 1;
    if (interrupts > 1) return stop.abort(new Error("interrupted"));
    app.console.say("Ctrl-C sent to the command; once more leaves it running.");
    client.processes.signal({ computer, process: id, signal: "INT" }).catch(() => {});
  };
  process.on("SIGINT", interrupt);
  try {
    for await (const event of client.processes.follow({ computer, process: id }, { signal: stop.signal })) {
      if (event.type === "dropped") app.console.say(`(${event.bytes} bytes of output are no longer kept)`);
      else if (event.type === "output" && app.json) collected[event.stream].push(event.bytes);
      else if (event.type === "output") {
        await (event.stream === "stdout" ? app.console.out(event.bytes) : app.console.errOut(event.bytes));
      } else if (event.type === "end") {
        return app.json
          ? { ...event.process, stdout: textOf(collected.stdout), stderr: textOf(collected.stderr) }
          : event.process;
      }
    }
    throw new Error("The output ended before the command did.");
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    app.console.say(`It goes on: holdfast processes follow ${computer} ${id}`);
    throw new ExitWith(exitCodes.interrupted);
  } finally {
    process.off("SIGINT", interrupt);
  }
};

const textOf = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString("utf8");

/** Standard input in pieces, then its end. A command that has ended meanwhile does not want the rest. */
const feed = async (app: App, client: HoldfastClient, computer: string, id: string): Promise<void> => {
  try {
    for await (const chunk of app.console.stdin) {
      const bytes = Buffer.from(chunk as Uint8Array);
      for (let at = 0; at < bytes.length; at += inlineInputBytes) {
        await sendAll(client, computer, id, bytes.subarray(at, at + inlineInputBytes));
      }
    }
    await client.processes.input({ computer, process: id, close: true });
  } catch (error) {
    if (explain(error).code !== "process_ended") throw error;
    app.console.stdin.destroy();
  }
};

/** The command may take only a part at once: its pipe is full until it reads. */
const sendAll = async (
  client: HoldfastClient,
  computer: string,
  id: string,
  bytes: Buffer,
): Promise<void> => {
  for (let at = 0; at < bytes.length; ) {
    const rest = bytes.subarray(at);
    const { accepted_bytes: accepted } = await client.processes.input({
      computer,
      process: id,
      base64: rest.toString("base64"),
    });
    at += accepted;
    if (accepted === 0) await pause(50);
  }
};
