import type { Command } from "commander";
import { CliError, exitCodes } from "../errors.ts";

const verbs = {
  up: "Set up what is missing and start Holdfast",
  down: "Stop Holdfast; disks are kept",
  status: "Show what runs, and where",
  doctor: "Try every capability of the host and say what to do about what is missing",
  install: "Write systemd units",
  run: "As up, in the foreground: what the systemd units call",
  owner: "With 'login': make a one-time code for the owner (owners sign in with 'owners')",
} as const;

/** Verbs about the host are another program's: the entry `holdfast` sends them there before it gets here. They are here for the help. */
export const addHostVerbs = (program: Command): void => {
  for (const [verb, summary] of Object.entries(verbs)) {
    program
      .command(verb)
      .summary(summary)
      .description(summary)
      .allowUnknownOption()
      .usage("[options]")
      .allowExcessArguments()
      .action((_options: unknown, command: Command) => {
        const [word] = command.args;
        if (verb === "owner" && word !== "login")
          throw new CliError(
            "`owner` makes a code on the host, and nothing else",
            "Everything owners do is under `owners`.",
            `\`holdfast owners ${word ?? "--help"}\`; or on the host, as root: \`holdfast owner login\`.`,
            exitCodes.usage,
          );
        throw new CliError(
          `\`${verb}\` is about the host`,
          "This program speaks to a running Holdfast.",
          `Run \`node bin/holdfast.mjs ${verb}\` in the clone.`,
          exitCodes.usage,
        );
      });
  }
};
