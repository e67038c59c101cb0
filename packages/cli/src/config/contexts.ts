import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { CliError, exitCodes } from "../errors.ts";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

const contextSchema = z.looseObject({
  url: z.url({ protocol: /^https?$/ }),
  /** Absolute, or relative to the configuration directory. Absent: a context for an owner only. */
  key_file: z.string().optional(),
  /** The owner's name, for verbs that ask for a passphrase. */
  owner: z.string().optional(),
});

const configSchema = z.looseObject({
  version: z.literal(1),
  current: z.string(),
  contexts: z.record(z.string(), contextSchema),
});

export type Context = z.output<typeof contextSchema>;
export type Config = z.output<typeof configSchema>;

export interface NamedContext {
  readonly name: string;
  readonly context: Context;
}

/** The context that has this address, the one in use first; else a new one without a key, under a name that is free. */
export const contextAt = (url: string, config: Config): NamedContext => {
  const names = [config.current, ...Object.keys(config.contexts)];
  for (const name of names) {
    const context = config.contexts[name];
    if (context && sameAddress(context.url, url)) return { name, context };
  }
  const plain = new URL(url).host.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-+|-+$/g, "");
  let name = plain;
  for (let count = 2; config.contexts[name]; count += 1) name = `${plain}-${count}`;
  return { name, context: { url } };
};

export const sameAddress = (one: string, other: string): boolean =>
  new URL(one).href.replace(/\/+$/, "") === new URL(other).href.replace(/\/+$/, "");

/** The address as it was given. Throws when nothing could be there. */
export const checkedUrl = (url: string): string => {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CliError(
    "The address is not usable",
    `\`${url}\` is not an http or https URL.`,
    "Use the one `holdfast status` prints.",
    exitCodes.usage,
  );
};

/** The contexts of this user, in `config.json`. No secret stands in it: keys have files of their own. */
export class ConfigStore {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  get path(): string {
    return join(this.directory, "config.json");
  }

  async read(): Promise<Config> {
    const text = await readPrivateFile(this.path);
    if (text === undefined) return { version: 1, current: "default", contexts: {} };
    const parsed = configSchema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    throw new CliError(
      `${this.path} is not a valid configuration`,
      parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; "),
      "Mend it, or move it away and run `holdfast contexts add`.",
    );
  }

  async change(edit: (config: Config) => Config): Promise<Config> {
    const config = edit(await this.read());
    await writePrivateFile(this.path, `${JSON.stringify(config, null, 2)}\n`);
    return config;
  }

  keyPath(keyFile: string): string {
    return isAbsolute(keyFile) ? keyFile : join(this.directory, keyFile);
  }

  /** The key in the file. Throws when there is none or the file is not private. */
  async readKey(keyFile: string): Promise<string> {
    const path = this.keyPath(keyFile);
    const text = await readPrivateFile(path);
    if (text === undefined) {
      throw new CliError(
        "There is no key",
        `${path} does not exist.`,
        "An owner makes one: `holdfast keys create <assistant> --save <file>`.",
      );
    }
    return oneLine(text, path);
  }
}

/** The secret in a text of one line. */
export const oneLine = (text: string, source: string): string => {
  const line = text.trim();
  if (line === "" || /[\s\0]/.test(line)) {
    throw new CliError(
      `${source} holds no key`,
      "It must be one word on one line.",
      "Write the key into it again.",
    );
  }
  return line;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
