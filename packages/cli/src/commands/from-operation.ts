import type { Operation, OperationName } from "@holdfast/contract";
import type { HoldfastClient } from "@holdfast/sdk";
import { type Command, Option } from "commander";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { every, startStopwatch } from "../lib/time.ts";
import { asOwner } from "../owner/as-owner.ts";
import { addOptions, inputOf } from "../options/add-options.ts";
import { type Field, fieldsOf } from "../options/fields.ts";
import { commandWords } from "../options/words.ts";
import { print } from "../present/index.ts";
import { confirmDanger, isDangerous } from "./confirm.ts";
import { hints } from "./hints.ts";

type Input = Record<string, unknown>;
type DeclaredOperation = Operation & { readonly name: OperationName };

/** What a hand-made verb changes of the generated one. */
export interface Override {
  readonly description?: string;
  /** Fields that get no flag of their own. */
  readonly omit?: readonly string[];
  /** More flags. */
  readonly extend?: (command: Command) => void;
  /** Completes the input before it is sent. */
  readonly complete?: (
    app: App,
    input: Input,
    values: Readonly<Record<string, unknown>>,
  ) => Promise<Input> | Input;
  /** Shows the result instead of the table or card. */
  readonly show?: (app: App, output: unknown, values: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Does everything instead of one call. */
  readonly run?: (call: VerbCall) => Promise<void>;
}

export interface VerbCall {
  readonly app: App;
  readonly input: Input;
  readonly values: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
}

/** Makes the verb of an operation: arguments, a flag for each field, and the call. */
export const addOperation = (
  noun: Command,
  app: App,
  operation: DeclaredOperation,
  override: Override = {},
): Command => {
  const command = noun
    .command(operation.command.verb)
    .summary(operation.summary)
    .description(override.description ?? commandWords(operation.description, operation.input.shape));
  for (const argument of operation.command.arguments)
    command.argument(`<${argument}>`, argumentText(operation, argument));
  const takesCommand = "argv" in operation.input.shape;
  if (takesCommand) command.argument("[command...]", "Program and arguments, after --");
  const fields = fieldsOf(operation, [...(takesCommand ? ["argv"] : []), ...(override.omit ?? [])]);
  addOptions(command, fields, operation.input.shape);
  if (operation.idempotent) {
    command.option("--idempotency-key <text>", "Unique to this act: sent again it answers the first result");
  }
  if (isDangerous(operation)) command.addOption(new Option("--force", "Do not ask for confirmation"));
  override.extend?.(command);
  command.action(async (...received: unknown[]) => {
    const input = collectInput(operation, command, fields, received, takesCommand);
    const values = command.opts<Record<string, unknown>>();
    const completed = (await override.complete?.(app, input, values)) ?? input;
    const idempotencyKey = values["idempotencyKey"] as string | undefined;
    await confirmDanger(app, operation, completed, values["force"] === true);
    if (override.run) return override.run({ app, input: completed, values, idempotencyKey });
    const output = await call(app, operation, completed, idempotencyKey);
    if (override.show && !app.json) await override.show(app, output, values);
    else await print(app, operation.name, output);
    hints[operation.name]?.(app, output);
  });
  return command;
};

export const call = async (
  app: App,
  operation: DeclaredOperation,
  input: Input,
  idempotencyKey?: string,
): Promise<unknown> => {
  const send = (client: HoldfastClient): Promise<unknown> =>
    client.call(operation.name, input, idempotencyKey === undefined ? {} : { idempotencyKey });
  // What a ticket opens ends with the session that made it.
  if (operation.scope === "owner") return asOwner(app, send, { signOut: operation.name !== "project.open" });
  const client = await app.client();
  return slow(app, operation, () => send(client));
};

/** Says that something is happening when it takes more than a moment. */
export const slow = async <T>(app: App, operation: Operation, run: () => Promise<T>): Promise<T> => {
  const elapsed = startStopwatch();
  const stop = every(1000, () => {
    app.console.progress(`${operation.title} … ${Math.round(elapsed() / 1000)} s`);
  });
  try {
    return await run();
  } finally {
    stop();
    if (elapsed() >= 1000) app.console.clearProgress();
  }
};

const collectInput = (
  operation: Operation,
  command: Command,
  fields: readonly Field[],
  received: readonly unknown[],
  takesCommand: boolean,
): Input => {
  const input = inputOf(fields, command.opts(), (key) => command.getOptionValueSource(key) === "cli");
  operation.command.arguments.forEach((name, index) => {
    input[name] = received[index];
  });
  const argv = takesCommand ? (received[operation.command.arguments.length] as readonly string[]) : [];
  if (argv.length > 0) input["argv"] = argv;
  return input;
};

const argumentText = (operation: Operation, argument: string): string =>
  commandWords(
    (operation.input.shape[argument] as { description?: string } | undefined)?.description ?? "",
    {},
  );

export const usageError = (title: string, cause: string, next: string): CliError =>
  new CliError(title, cause, next, exitCodes.usage);
