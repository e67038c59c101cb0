import { type Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { App } from "./app.ts";
import { exitCodes, ExitWith, explain, moreOf } from "./errors.ts";
import { createProgram } from "./program.ts";
import { callFor, suggest } from "./suggest.ts";
import { Console } from "./terminal/console.ts";

/** Runs the command line and returns its exit code. */
export const main = async (argv: readonly string[]): Promise<number> => {
  const console = new Console(process, process.env);
  const app = new App(console, process.env, Date.now);
  // A reader that has seen enough (`| head`) ends the command quietly.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  const program = createProgram(app, packageJson.version);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof ExitWith) return error.exitCode;
    if (error instanceof CommanderError) return usage(console, error, argv, program);
    return failure(app, argv, error);
  } finally {
    await app.close();
    // A pending read of standard input must not keep a finished command alive.
    process.stdin.destroy();
  }
};

/** Help and version come here too: they are no errors. */
const usage = (
  console: Console,
  error: CommanderError,
  argv: readonly string[],
  program: Command,
): number => {
  if (error.exitCode === 0) return 0;
  if (error.code === "commander.help") return exitCodes.usage;
  const [title = "", ...rest] =
    error.code === "commander.unknownCommand"
      ? unknownCommand(program, argv)
      : wrongUse(error, argv, program);
  if (argv.includes("--json")) {
    const told = { code: "usage", title, cause: "", next: rest.join("\n"), details: {} };
    process.stderr.write(`${JSON.stringify({ error: told })}\n`);
  } else console.fail([title, ...rest]);
  return exitCodes.usage;
};

const wrongUse = (error: CommanderError, argv: readonly string[], program: Command): readonly string[] => {
  const message = error.message.replace(/^error: /, "").replace(/\n\(Did you mean/, " (Did you mean");
  const next =
    error.code === "commander.unknownOption" && argv.some((word) => word === "exec" || word === "terminal")
      ? "Put -- before the command: holdfast exec box -- ls -la"
      : `Usage: holdfast ${callFor(program, argv) ?? "<command>"}, and --help for its options.`;
  return [`${message[0]?.toUpperCase() ?? ""}${message.slice(1)}`, next];
};

const unknownCommand = (program: Command, argv: readonly string[]): readonly string[] => {
  const told = suggest(program, argv);
  const title = `Unknown command: ${told?.typed ?? argv.join(" ")}`;
  if (!told) return [title, "See holdfast --help."];
  const [likely, ...others] = told.instead;
  const meant =
    likely === undefined ? [] : [`Did you mean: holdfast ${[likely, ...others].join("  or  holdfast ")}`];
  if (told.usage.length === 0) return [title, ...meant, "All there is: holdfast --help"];
  return [title, ...meant, "", ...told.usage, "", "More of each with --help."];
};

const failure = (app: App, argv: readonly string[], error: unknown): number => {
  const told = explain(error);
  app.console.clearProgress();
  if (app.json || argv.includes("--json")) {
    const { exitCode: _exitCode, ...body } = told;
    process.stderr.write(`${JSON.stringify({ error: body })}\n`);
  } else {
    const more = moreOf(told).map((line) => `  ${line}`);
    app.console.fail([`${told.title}.`, `  ${told.cause}`, ...more, `  Next: ${told.next}`]);
  }
  return told.exitCode;
};

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
