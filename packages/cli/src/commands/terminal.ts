import { spawnSync } from "node:child_process";
import type { OperationOutput } from "@holdfast/contract";
import type { HoldfastClient } from "@holdfast/sdk";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { CliError, exitCodes, ExitWith } from "../errors.ts";
import type { Override } from "./from-operation.ts";

type Process = OperationOutput<"process.get">;

/** Ctrl-]: as telnet has it; no shell and hardly any editor uses it. */
const defaultDetachKey = "ctrl-]";

export const addTerminal = (program: Command, app: App): void => {
  program
    .command("terminal")
    .summary("Open a terminal on a computer")
    .description(
      "Opens a shell (or the command after --) on a terminal of its own. It goes on when you detach or lose the connection: attach again with --process.",
    )
    .argument("<computer>", "The computer: its id or name")
    .argument("[command...]", "Program and arguments, after --; default: a login shell")
    .option("--process <id>", "Attach to a terminal that is already there")
    .option("--detach-key <key>", "Key to leave with, the process goes on", defaultDetachKey)
    .option("--cwd <path>", "Working directory")
    .action(async (computer: string, argv: readonly string[], values: Record<string, string | undefined>) => {
      const client = await app.client();
      const existing = values["process"];
      const target =
        existing === undefined
          ? await client.processes.start({
              computer,
              argv: argv.length > 0 ? [...argv] : ["/bin/bash", "-l"],
              environment: { TERM: app.environment["TERM"] ?? "xterm-256color", LANG: "C.UTF-8" },
              terminal: terminalSize(app),
              ...(values["cwd"] === undefined ? {} : { cwd: values["cwd"] }),
            })
          : await client.processes.get({ computer, process: existing });
      await attachTerminal(app, client, target, 0, values["detachKey"]);
    });
};

export const attachOverride: Override = {
  omit: ["cursor"],
  extend: (command) =>
    command.option("--detach-key <key>", "Key to leave with, the process goes on", defaultDetachKey),
  run: async ({ app, input, values }) => {
    const client = await app.client();
    const target = await client.processes.get({
      computer: String(input["computer"]),
      process: String(input["process"]),
    });
    await attachTerminal(app, client, target, 0, values["detachKey"] as string | undefined);
  },
};

export const terminalSize = (app: App): { columns: number; rows: number } => ({
  columns: clamp(app.console.stdout.columns ?? 80),
  rows: clamp(app.console.stdout.rows ?? 24),
});

/** Joins this terminal to the process's until it ends or the detach key is pressed. Ends with the process's exit code. */
export const attachTerminal = async (
  app: App,
  client: HoldfastClient,
  target: Process,
  cursor: number,
  detachKey: string = defaultDetachKey,
): Promise<void> => {
  const detach = keyByte(detachKey);
  const { stdin, stdout } = app.console;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new CliError(
      "This is not a terminal",
      "Standard input and output must both be one.",
      "Use `holdfast exec` in scripts and pipes.",
      exitCodes.usage,
    );
  }
  const attachment = await client.processes.attach({ computer: target.computer, process: target.id, cursor });
  let detached = false;
  const type = (chunk: Buffer): void => {
    const at = chunk.indexOf(detach);
    if (at !== 0) attachment.write(at < 0 ? chunk : chunk.subarray(0, at));
    if (at < 0) return;
    detached = true;
    attachment.close();
  };
  const resize = (): void => {
    const { columns, rows } = terminalSize(app);
    attachment.resize(columns, rows);
  };
  app.console.hint(`Attached to ${target.id}. ${detachKey} detaches.`);
  stdin.setRawMode(true);
  passLineFeeds();
  stdin.on("data", type);
  stdin.resume();
  stdout.on("resize", resize);
  resize();
  try {
    for await (const bytes of attachment.output) await app.console.out(bytes);
  } finally {
    stdin.off("data", type);
    stdout.off("resize", resize);
    stdin.setRawMode(false);
    stdin.pause();
  }
  const ended = await attachment.ended;
  if (ended) throw new ExitWith(ended.exit_code ?? exitCodes.failed);
  const again = `holdfast terminal ${target.computer} --process ${target.id}`;
  if (detached) return app.console.say(`\nDetached; it goes on. Attach again: ${again}`);
  throw new CliError(
    "The connection to the terminal was lost",
    "The process goes on.",
    `Attach again: ${again}`,
  );
};

/** Node's raw mode still makes CR LF of each LF, which moves the cursor of full-screen programs; leaving raw mode restores everything. */
const passLineFeeds = (): void => {
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
};

const clamp = (size: number): number => Math.max(1, Math.min(500, size));

const keyByte = (key: string): number => {
  const letter = /^ctrl-([a-z\]\\^_@[])$/i.exec(key)?.[1];
  if (letter !== undefined) return letter.toUpperCase().charCodeAt(0) & 0x1f;
  throw new CliError(
    "--detach-key is not usable",
    `\`${key}\` is not of the form ctrl-<letter>.`,
    "For example: --detach-key ctrl-]",
    exitCodes.usage,
  );
};
