import { createClient, type HoldfastClient } from "@holdfast/sdk";
import type { App } from "../app.ts";
import { oneLine } from "../config/contexts.ts";
import { readPrivateFile } from "../config/private-file.ts";
import { CliError, exitCodes, explain } from "../errors.ts";
import { signInSecret } from "./key.ts";

/**
 * Signs in, runs, and signs out. With `signOut` false the session is left to end by itself, for what ends with it; its token is forgotten
 * all the same.
 */
export const asOwner = async <T>(
  app: App,
  run: (client: HoldfastClient) => Promise<T>,
  { signOut = true }: { readonly signOut?: boolean } = {},
): Promise<T> => {
  const session = await signInAsOwner(app);
  try {
    return await confirming(session, run);
  } finally {
    if (signOut) await session.end();
  }
};

export interface OwnerSession {
  readonly client: HoldfastClient;
  /** What signed it in. */
  readonly secret: string;
  /** Signs out. Never throws: it would end by itself, and a result must not be lost over it. */
  end(): Promise<void>;
}

/**
 * Signs in as the owner that `--owner` or the context names. The session lives in this process only: nothing on disk would make anybody
 * an owner who cannot say the passphrase, not even a program that runs as the same user.
 */
export const signInAsOwner = async (app: App): Promise<OwnerSession> => {
  const { context } = await app.context();
  const name = app.ownerName ?? context.owner;
  if (name === undefined) {
    throw new CliError(
      "This needs an owner",
      "This context names none.",
      "Sign in once with `holdfast owners login <name>`, or enrol with `holdfast owners enrol`.",
      exitCodes.usage,
    );
  }
  const secret = await signInSecret(await readPassphrase(app, `Passphrase of ${name}:`));
  const publicClient = await app.publicClient();
  const { token } = await signIn(publicClient, name, secret);
  const client = createClient({ baseUrl: publicClient.baseUrl, token });
  return { client, secret, end: () => client.sessions.delete().then(noop, noop) };
};

const noop = (): void => {};

const signIn = async (
  client: HoldfastClient,
  name: string,
  secret: string,
): Promise<{ readonly token: string }> => {
  try {
    return await client.sessions.create({ name, passphrase: secret });
  } catch (error) {
    if (explain(error).code !== "unauthenticated") throw error;
    throw new CliError(
      "You are not signed in",
      `There is no owner ${name} with this passphrase. The passphrase itself is never sent from here, only a value derived from it: who enrolled by another program that sent it as it is cannot sign in here.`,
      "Try again; after ten wrong ones it takes a while. Forgotten, or enrolled elsewhere: `holdfast owner login` on the host makes a new code, and `holdfast owners enrol` sets a passphrase that works here.",
      exitCodes.notAllowed,
      "unauthenticated",
    );
  }
};

/** A fresh session is confirmed; if the server thinks otherwise, say the passphrase once more and repeat. */
const confirming = async <T>(
  { client, secret }: OwnerSession,
  run: (client: HoldfastClient) => Promise<T>,
): Promise<T> => {
  try {
    return await run(client);
  } catch (error) {
    if (explain(error).code !== "confirmation_required") throw error;
    await client.sessions.confirm({ passphrase: secret });
    return run(client);
  }
};

/** From a private file, from standard input (`-`), or asked for without showing it. */
export const readPassphrase = async (app: App, question: string): Promise<string> => {
  const file = app.options.passphraseFile;
  if (file === "-") return firstLine(await app.readAllStdin());
  if (file !== undefined) {
    const text = await readPrivateFile(file);
    if (text === undefined)
      throw new CliError(
        "There is no passphrase",
        `${file} does not exist.`,
        "Check --passphrase-file.",
        exitCodes.usage,
      );
    return firstLine(text);
  }
  return app.console.askHidden(
    question,
    "Give --passphrase-file <file>, or --passphrase-file - for standard input.",
  );
};

export const readCode = async (app: App, file: string | undefined): Promise<string> => {
  if (file === "-") return firstLine(await app.readAllStdin());
  if (file !== undefined) return oneLine((await readPrivateFile(file)) ?? "", file);
  return app.console.askHidden(
    "One-time code:",
    "Give --code-file <file>, or --code-file - for standard input.",
  );
};

const firstLine = (text: string): string => text.split(/\r?\n/)[0] ?? "";
