import { spawn } from "node:child_process";
import type { UserIds } from "./users.ts";

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** Whose rights it has, with no further groups; by default ours. */
  readonly user?: UserIds;
  /** Called with each line of standard output and error, for progress. */
  readonly onLine?: (line: string) => void;
}

/** The environment of a command that nobody's shell should influence. */
export const plainEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
};

const keptBytes = 1024 * 1024;

/** Runs a program to its end with an argument array, never a shell. Throws with the end of its standard error unless it exits with 0. */
export const command = async (argv: readonly string[], options: CommandOptions = {}): Promise<string> => {
  const result = await tryCommand(argv, options);
  if (result.status !== 0) {
    const said = (result.stderr || result.stdout).trim().split("\n").slice(-8).join("\n");
    throw new Error(`${argv.join(" ").slice(0, 300)} failed (status ${result.status}): ${said}`);
  }
  return result.stdout;
};

/** As `command`, but any exit status is a result. Throws only when the program cannot be started. */
export const tryCommand = (argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const [file = "", ...rest] = argv;
    const child = spawn(file, rest, {
      cwd: options.directory ?? "/",
      ...options.user,
      env: { ...(options.environment ?? plainEnvironment) },
      stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      let unfinished = "";
      const stream = child[name];
      stream?.setEncoding("utf8");
      stream?.on("data", (chunk: string) => {
        texts[name] = (texts[name] + chunk).slice(-keptBytes);
        if (!options.onLine) return;
        const lines = (unfinished + chunk).split(/[\r\n]+/);
        unfinished = (lines.pop() ?? "").slice(-4000);
        for (const line of lines) options.onLine(line);
      });
    }
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(options.input);
    child.once("error", (cause) =>
      reject(new Error(`${file} could not be started: ${cause.message}`, { cause })),
    );
    child.once("close", (code) => resolve({ status: code ?? 255, ...texts }));
  });
