import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { type Config, ConfigStore, type Context, oneLine } from "./config/contexts.ts";
import { configDirectory, type Environment } from "./config/paths.ts";
import { readPrivateFile } from "./config/private-file.ts";
import { CliError, exitCodes } from "./errors.ts";
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

  /** The chosen context: flag, then environment, then the current one. `--url` alone makes one for this call. */
  async context(): Promise<{ readonly name: string; readonly context: Context }> {
    const config = await this.store.read();
    const named = this.options.context ?? this.environment["HOLDFAST_CONTEXT"];
    const url = this.options.url ?? this.environment["HOLDFAST_URL"];
    const name = named ?? config.current;
    const context = config.contexts[name];
    if (!context && named !== undefined) throw unknownContext(named, config);
    if (url !== undefined) return { name, context: { ...context, url: checkedUrl(url) } };
    if (context) return { name, context };
    throw new CliError(
      "There is no Holdfast to talk to yet",
      `${this.store.path} names none.`,
      "Start one on this machine with `holdfast up`, or add one: `holdfast contexts add <name> --url <address> --key-file <file>`.",
      exitCodes.usage,
    );
  }

  /** A client with the context's key. */
  async client(): Promise<HoldfastClient> {
    const { context } = await this.context();
    const token = await this.key();
    this.#warnOfPlainHttp(context.url);
    return createClient({ baseUrl: context.url, token });
  }

  /** The key of the chosen context, or of `--key-file`. */
  async key(): Promise<string> {
    const { context } = await this.context();
    const key = await this.#token(context);
    if (key !== undefined) return key;
    throw new CliError(
      "There is no key",
      "This context has no `key_file`.",
      "Give one with --key-file, or write it into the context: `holdfast contexts add <name> --url … --key-file …`.",
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

  pause(ms: number): Promise<void> {
    return sleep(ms);
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

const checkedUrl = (url: string): string => {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CliError(
    "The address is not usable",
    `\`${url}\` is not an http or https URL.`,
    "Use the one `holdfast status` prints.",
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
