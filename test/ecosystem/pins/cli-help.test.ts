import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "commander";
import { App } from "../../../packages/cli/src/app.ts";
import { createProgram } from "../../../packages/cli/src/program.ts";
import { Console } from "../../../packages/cli/src/terminal/console.ts";
import { operations } from "../../../packages/contract/src/index.ts";
import { assertPinned } from "./pin.ts";

const streams = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
const program = createProgram(new App(new Console(streams, {}), {}, () => 0), "0.0.0");

test("the help of every verb is what is pinned", () => {
  assertPinned("cli-help.txt", `${pages(program).join("\n\n")}\n`);
});

test("every operation has its verb", () => {
  const missing = Object.values(operations).filter(({ command }) => {
    const noun = program.commands.find((candidate) => candidate.name() === command.noun);
    return !noun?.commands.some((candidate) => candidate.name() === command.verb);
  });
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

const pages = (command: Command): string[] => [
  `# ${path(command)}\n\n${help(command)}`,
  ...command.commands.flatMap(pages),
];

const path = (command: Command): string =>
  command.parent ? `${path(command.parent)} ${command.name()}` : command.name();

/** Without the options that are the same everywhere, and as wide as a page. */
const help = (command: Command): string => {
  let text = "";
  command.configureHelp({ showGlobalOptions: false, sortSubcommands: false });
  command.configureOutput({
    writeOut: (chunk) => (text += chunk),
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text.trim();
};
