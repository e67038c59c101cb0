import type { Command } from "commander";
import type { App } from "../app.ts";
import type { NamedContext } from "../config/contexts.ts";
import { CliError, exitCodes } from "../errors.ts";
import { print } from "../present/index.ts";
import { asOwner, readCode, readPassphrase } from "./as-owner.ts";
import { checkedCode } from "./code.ts";
import { createOwnerKey, signInSecret } from "./key.ts";

/** The owner verbs that need more than one call: signing in and enrolling. */
export const addOwnerVerbs = (owners: Command, app: App): void => {
  owners
    .command("enrol")
    .summary("Become an owner with a one-time code")
    .description(
      "Redeems a one-time code (printed by 'holdfast up' and 'holdfast owner login' on the host, or made by another owner with 'owners invite'), sets your passphrase (it replaces the one you had) and makes your owner key. The key leaves this machine only sealed under the passphrase.",
    )
    .option("--code-file <file>", "File with the code; - for standard input. Without it you are asked")
    .action(async (values: { codeFile?: string }) => {
      const place = await app.keepingContext();
      const client = await app.publicClient();
      const code = checkedCode(await readCode(app, values.codeFile));
      app.console.say("The owner of this code gets this passphrase; one that was set before ends with it.");
      const passphrase = await newPassphrase(app);
      const key = await createOwnerKey(passphrase);
      const { session } = await client.sessions.enrol({
        code,
        passphrase: await signInSecret(passphrase),
        public_key: key.publicKey,
        sealed_key: key.sealedKey,
      });
      await remember(app, place, session.owner.name);
      await print(
        app,
        "owner.list",
        app.json ? session.owner : { owners: [session.owner], next_cursor: null },
      );
      app.console.say(
        "Keep the passphrase safe: nothing on this machine stands in for it. Forgotten, `holdfast owner login` as root makes a new code.",
      );
      app.console.hint("Next: holdfast keys create <assistant>");
    });

  owners
    .command("login")
    .summary("Check the passphrase and remember the owner's name")
    .description(
      "Checks the passphrase and remembers in this context who you are. No session is kept: every owner verb asks for the passphrase, so that no program of yours can act as you.",
    )
    .argument("<name>", "The owner's name")
    .action(async (name: string) => {
      app.ownerName = name;
      const place = await app.keepingContext();
      const session = await asOwner(app, (client) => client.sessions.get());
      await remember(app, place, name);
      await print(app, "session.get", session);
    });

  owners
    .command("confirm")
    .summary("Check that you know the passphrase")
    .description("Signs in and confirms. The verbs that need a confirmed session do this by themselves.")
    .action(async () => {
      await asOwner(app, async (client) => print(app, "session.get", await client.sessions.get()));
    });

  owners
    .command("session")
    .summary("Show who you are as an owner")
    .action(async () => {
      await asOwner(app, async (client) => print(app, "session.get", await client.sessions.get()));
    });

  owners
    .command("logout")
    .summary("Forget the owner's name in this context")
    .action(async () => {
      const { name } = await app.context();
      await app.store.change((config) => {
        const known = config.contexts[name];
        if (!known) return config;
        const { owner: _owner, ...context } = known;
        return { ...config, contexts: { ...config.contexts, [name]: context } };
      });
      app.console.say("Forgotten. No session was kept.");
    });
};

const remember = async (app: App, { name, context }: NamedContext, owner: string): Promise<void> => {
  const { current } = await app.store.change((config) => ({
    ...config,
    current: Object.keys(config.contexts).length === 0 ? name : config.current,
    contexts: { ...config.contexts, [name]: { ...context, owner } },
  }));
  if (current === name) return;
  app.console.say(
    `Kept in the context ${name} (${context.url}). In use is ${current}: give --context ${name}, or switch with \`holdfast contexts use ${name}\`.`,
  );
};

const newPassphrase = async (app: App): Promise<string> => {
  const passphrase = await readPassphrase(app, "New passphrase (at least 12 characters):");
  if ([...passphrase].length < 12) {
    throw new CliError(
      "The passphrase is too short",
      "It has fewer than 12 characters.",
      "Choose a longer one, for example five words that have nothing to do with each other.",
      exitCodes.usage,
    );
  }
  if (app.options.passphraseFile !== undefined) return passphrase;
  const again = await readPassphrase(app, "The same again:");
  if (again !== passphrase)
    throw new CliError(
      "The passphrases differ",
      "You typed two different ones.",
      "Start again.",
      exitCodes.usage,
    );
  return passphrase;
};
