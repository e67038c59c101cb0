import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import { type OperationName, operations } from "@holdfast/contract";
import type { App } from "../app.ts";
import { CliError } from "../errors.ts";
import { print } from "../present/index.ts";
import { call, type Override } from "./from-operation.ts";
import { hints } from "./hints.ts";

type Output = Readonly<Record<string, unknown>>;

/** An operation whose reply holds a secret that nobody can read again. */
interface ShownOnce {
  readonly name: OperationName;
  /** The secret's field; null where this one has none. */
  readonly field: string;
  /** What it is called: `The key itself`. */
  readonly words: string;
  /** What is shown beside it. */
  readonly subject: (output: Output) => unknown;
}

/** The secret is shown once, or goes into a file that only you can read. */
export const shownOnce = ({ name, field, words, subject }: ShownOnce): Override => ({
  extend: (command) =>
    command.option("--save <file>", "Write the key into a new private file instead of showing it"),
  run: async ({ app, input, values, idempotencyKey }) => {
    const path = values["save"] as string | undefined;
    // Opened first: a key whose file cannot be written would be lost.
    const file = path === undefined ? undefined : await createFile(path);
    // Nothing is in it: it would only stand in the way of the next try.
    const drop = async (): Promise<void> => (path === undefined ? undefined : rm(path, { force: true }));
    try {
      const output = (await call(app, operations[name], input, idempotencyKey).catch(
        async (error: unknown) => {
          await drop();
          throw error;
        },
      )) as Output;
      const { [field]: secret, ...rest } = output;
      if (typeof secret === "string") await file?.writeFile(`${secret}\n`);
      else await drop();
      if (app.json) return await print(app, name, file ? rest : output);
      await print(app, name, subject(output));
      if (typeof secret === "string" && path !== undefined) app.console.say(`The key is in ${path}.`);
      else if (typeof secret === "string") await showSecret(app, words, secret);
      hints[name]?.(app, output);
    } finally {
      await file?.close();
    }
  },
});

const showSecret = async (app: App, words: string, secret: string): Promise<void> => {
  app.console.say(`${words}, shown this once:`);
  await app.console.out(`${secret}\n`);
};

const createFile = async (path: string) => {
  try {
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  } catch (error) {
    throw new CliError(
      `${path} cannot be made`,
      (error as Error).message,
      "Choose a path where nothing is yet.",
    );
  }
};
