import { readdir, stat } from "node:fs/promises";
import { runDirectory, runRoot } from "@holdfast/contract";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import {
  checkedUrl,
  type Config,
  ConfigStore,
  type Context,
  contextAt,
  type NamedContext,
  oneLine,
  sameAddress,
} from "./config/contexts.ts";
import { configDirectory, type Environment } from "./config/paths.ts";
import { readPrivateFile } from "./config/private-file.ts";
import { CliError, exitCodes } from "./errors.ts";
import { type OwnerSession, signInAsOwner } from "./owner/as-owner.ts";
import type { Console } from "./terminal/console.ts";

/** Options before or after any verb. Secrets come from files and prompts only: flags and environment are seen by others. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly input?: boolean;
  readonly quiet?: boolean;
  readonly context?: string;
  readonly url?: string;
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly owner?: string;
}

/** What every command works with: the person at the terminal, the contexts, and a client for the chosen one. */
export class App {
  readonly console: Console;
  readonly store: ConfigStore;
  readonly environment: Environment;
  readonly now: () => number;
  options: GlobalOptions = {};
  /** Who signs in, when not the owner of the context. */
  ownerName: string | undefined;
  /** Of `client`, once for the whole command. */
  #session: Promise<OwnerSession> | undefined;

  constructor(console: Console, environment: Environment, now: () => number) {
    this.console = console;
    this.environment = environment;
    this.now = now;
    this.store = new ConfigStore(configDirectory(environment));
  }

  get json(): boolean {
    return this.options.json === true;
  }

  use(options: GlobalOptions): void {
    this.options = options;
    this.console.noInput = options.input === false;
    this.console.quiet = options.quiet === true;
    this.ownerName = options.owner;
  }

  /**
   * The chosen context: flag, then environment, then the current one. An address alone chooses the context that has it; without one it
   * makes a context for this call, which has no key: a key goes to the address it was given for, unless `--context` says otherwise.
   */
  async context(): Promise<NamedContext> {
    const config = await this.store.read();
    const { named, url } = this.#asked();
    if (named !== undefined) {
      const context = config.contexts[named];
      if (context) return { name: named, context: url === undefined ? context : { ...context, url } };
      if (url === undefined) throw unknownContext(named, config);
      return { name: named, context: { url } };
    }
    if (url !== undefined) return contextAt(url, config);
    const context = config.contexts[config.current];
    if (context) return { name: config.current, context };
    throw noContext(config, this.store.path, await instancesHere());
  }

  /**
   * The context in which something about the chosen place may be kept. Throws when an address was given beside the name of a context that
   * has another one: its key would from then on go to the new address.
   */
  async keepingContext(): Promise<NamedContext> {
    const { named, url } = this.#asked();
    const kept = named === undefined ? undefined : (await this.store.read()).contexts[named];
    if (url === undefined || !kept || sameAddress(kept.url, url)) return this.context();
    throw new CliError(
      `The context ${named} is for another Holdfast`,
      `It is for ${kept.url}; with ${url} in it, its key would go there from now on.`,
      "Leave --context out, or give it a name that is not in use: the address gets a context of its own.",
      exitCodes.usage,
    );
  }

  #asked(): { readonly named: string | undefined; readonly url: string | undefined } {
    const named = this.options.context ?? this.environment["HOLDFAST_CONTEXT"];
    const url = this.options.url ?? this.environment["HOLDFAST_URL"];
    return { named, url: url === undefined ? undefined : checkedUrl(url) };
  }

  /** A client with the context's key, or signed in as the owner that `--owner` names: who may do more, or see more, says so. */
  async client(): Promise<HoldfastClient> {
    if (this.options.owner !== undefined) return (await (this.#session ??= signInAsOwner(this))).client;
    const { context } = await this.context();
    const token = await this.key();
    this.#warnOfPlainHttp(context.url);
    return createClient({ baseUrl: context.url, token });
  }

  /** Signs out who was signed in. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    await session?.end();
  }

  /** The key of the chosen context, or of `--key-file`. */
  async key(): Promise<string> {
    const { context } = await this.context();
    const key = await this.#token(context);
    if (key !== undefined) return key;
    throw new CliError(
      "There is no key",
      `No context has one for ${context.url}.`,
      `Give it with --key-file, or keep it: \`holdfast contexts add <name> --url ${context.url} --key-file <file>\`. An owner makes keys: \`holdfast keys create <assistant>\`.`,
      exitCodes.usage,
    );
  }

  /** A client for what needs no key: signing in. */
  async publicClient(): Promise<HoldfastClient> {
    const { context } = await this.context();
    this.#warnOfPlainHttp(context.url);
    return createClient({ baseUrl: context.url });
  }

  async #token(context: Context): Promise<string | undefined> {
    const file = this.options.keyFile;
    if (file === "-") return oneLine(await this.readAllStdin(), "Standard input");
    if (file === undefined)
      return context.key_file === undefined ? undefined : this.store.readKey(context.key_file);
    const text = await readPrivateFile(file);
    if (text === undefined) {
      throw new CliError(
        "There is no key",
        `${file} does not exist.`,
        "Check the path of --key-file.",
        exitCodes.usage,
      );
    }
    return oneLine(text, file);
  }

  async readAllStdin(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.console.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
    return Buffer.concat(chunks).toString("utf8");
  }

  #warnOfPlainHttp(url: string): void {
    const { protocol, hostname } = new URL(url);
    if (protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return;
    this.console.say(`Warning: ${url} is not encrypted, and your key travels over the network.`);
  }
}

/** Names of the instances that run on this machine, as far as this user can see: all for root, else only whether the first one does. */
const instancesHere = async (): Promise<readonly string[]> => {
  try {
    return await readdir(runRoot);
  } catch {
    const usual = "default";
    return stat(runDirectory(usual)).then(
      () => [usual],
      () => [],
    );
  }
};

/** `running`: instances of this machine, which another user brought up. */
export const noContext = (config: Config, path: string, running: readonly string[]): CliError => {
  const known = Object.keys(config.contexts);
  const [here] = running;
  if (known.length === 0 && here !== undefined)
    return new CliError(
      `The Holdfast ${here} runs on this machine, but you have no key for it`,
      `${path} names none: context and key are in the home of who brought it up.`,
      `Call the command as that user (root: \`sudo holdfast …\`), or have a key made there, \`holdfast keys create <name> --save <file>\`, take a copy, and \`holdfast contexts add ${here} --url <address> --key-file <file>\`; \`sudo holdfast status\` prints the address.`,
      exitCodes.usage,
    );
  return known.length === 0
    ? new CliError(
        "There is no Holdfast to talk to yet",
        `${path} names none.`,
        "Start one on this machine with `holdfast up`, or add one: `holdfast contexts add <name> --url <address> --key-file <file>`.",
        exitCodes.usage,
      )
    : new CliError(
        "No context is in use",
        `${path} knows ${known.join(", ")}.`,
        `Choose one: \`holdfast contexts use ${known[0]}\`, or give --context.`,
        exitCodes.usage,
      );
};

const unknownContext = (name: string, config: Config): CliError =>
  new CliError(
    `There is no context ${name}`,
    `Known: ${Object.keys(config.contexts).join(", ") || "none"}.`,
    "See `holdfast contexts list`.",
    exitCodes.usage,
  );
