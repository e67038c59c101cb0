import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import type { App } from "../app.ts";
import type { Override } from "../commands/from-operation.ts";
import { CliError } from "../errors.ts";
import { call } from "../commands/from-operation.ts";
import { print } from "../present/index.ts";
import { operations } from "@holdfast/contract";

/** `keys create`: the secret is shown once, or goes into a file that only you can read. */
export const keyOverrides = {
  "key.create": {
    extend: (command) =>
      command.option("--save <file>", "Write the key into a new private file instead of showing it"),
    run: async ({ app, input, values, idempotencyKey }) => {
      const path = values["save"] as string | undefined;
      // Opened first: a key whose file cannot be written would be lost.
      const file = path === undefined ? undefined : await createFile(path);
      try {
        const made = call(app, operations["key.create"], input, idempotencyKey).catch(
          async (error: unknown) => {
            // Nothing is in it: it would only stand in the way of the next try.
            if (path !== undefined) await rm(path, { force: true });
            throw error;
          },
        );
        const output = (await made) as { key: Record<string, unknown>; secret: string };
        await file?.writeFile(`${output.secret}\n`);
        if (app.json) return await print(app, "key.create", file ? { key: output.key } : output);
        await print(app, "key.create", output.key);
        if (path !== undefined) app.console.say(`The key is in ${path}.`);
        else await showSecret(app, output.secret);
      } finally {
        await file?.close();
      }
    },
  },
} satisfies Readonly<Record<string, Override>>;

const showSecret = async (app: App, secret: string): Promise<void> => {
  app.console.say("The key itself, shown this once:");
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
