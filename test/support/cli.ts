import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileCache } from "./compile-cache.ts";
import { temporaryDirectory } from "./temporary.ts";

const program = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One user of the command line, with a home of its own. */
export interface CliUser {
  readonly home: string;
  /** In the home, unless `cwd` says otherwise. */
  run(argv: readonly string[], input?: string | Uint8Array, cwd?: string): Promise<CliResult>;
  /** For programs that start the command themselves. */
  readonly environment: Readonly<Record<string, string>>;
  readonly program: string;
  /** A private file in the home; answers its path. */
  secret(name: string, content: string): Promise<string>;
}

/** `key` undefined: a context without one. Everything is removed after the test. */
export const createCliUser = async (
  context: { after(work: () => Promise<void>): void },
  url: string,
  key?: string,
): Promise<CliUser> => {
  const { path: home, remove } = temporaryDirectory("home");
  context.after(async () => remove());
  const environment = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    PATH: process.env["PATH"] ?? "",
    LANG: "C.UTF-8",
    ...compileCache(),
  };
  const config = join(home, ".config/holdfast");
  await mkdir(config, { recursive: true, mode: 0o700 });
  const keyFile = key === undefined ? {} : { key_file: "keys/default.key" };
  const contexts = { default: { url, ...keyFile } };
  await writeFile(join(config, "config.json"), JSON.stringify({ version: 1, current: "default", contexts }), {
    mode: 0o600,
  });
  if (key !== undefined) {
    await mkdir(join(config, "keys"), { mode: 0o700 });
    await writeFile(join(config, "keys/default.key"), `${key}\n`, { mode: 0o600 });
  }
  return {
    home,
    environment,
    program,
    run: (argv, input, cwd = home) => run(argv, input, environment, cwd),
    secret: async (name, content) => {
      const path = join(home, name);
      await writeFile(path, content, { mode: 0o600 });
      return path;
    },
  };
};

const run = (
  argv: readonly string[],
  input: string | Uint8Array | undefined,
  environment: Readonly<Record<string, string>>,
  cwd: string,
): Promise<CliResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...argv], {
      env: environment,
      cwd,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const out: Buffer[] = [];
    const words: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => words.push(chunk));
    child.once("error", reject);
    child.once("close", (code) =>
      resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(words).toString() }),
    );
    // A command that needs no more input closes its end.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
