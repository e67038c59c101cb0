import { spawn } from "node:child_process";
import { CliError, exitCodes } from "../errors.ts";

export interface GitResult {
  readonly code: number | null;
  readonly stdout: string;
  /** What git said, for people. */
  readonly stderr: string;
}

/** Runs this machine's git in a directory, without a shell, and waits for its end. Throws only when there is no git. */
export const tryGit = (directory: string, args: readonly string[]): Promise<GitResult> =>
  new Promise((resolve, reject) => {
    const child = spawn("git", [...guards, ...args], {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" },
    });
    const out = new Kept();
    const words = new Kept();
    child.stdout.on("data", (chunk: Buffer) => out.add(chunk));
    child.stderr.on("data", (chunk: Buffer) => words.add(chunk));
    child.once("error", (error: NodeJS.ErrnoException) => reject(error.code === "ENOENT" ? noGit() : error));
    child.once("close", (code) => resolve({ code, stdout: out.text(), stderr: words.text() }));
  });

/**
 * A project's files come from a computer: a repository that lies among them is not taken for the clone itself, with commands in its
 * configuration, and submodules that it names are not fetched because it names them.
 */
const guards = ["-c", "safe.bareRepository=explicit", "-c", "submodule.recurse=false"] as const;

/** The same, for what must succeed. Throws what git said under the given title. */
export const git = async (
  directory: string,
  args: readonly string[],
  title: string,
  next: string,
): Promise<string> => {
  const { code, stdout, stderr } = await tryGit(directory, args);
  if (code === 0) return stdout.trim();
  throw new CliError(title, stderr.trim() || `git ${args[0]} ended with ${code}.`, next);
};

/** The first mebibyte of an output; what comes after it is dropped. */
class Kept {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    if (this.#bytes < keptBytes) this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  text(): string {
    return Buffer.concat(this.#chunks).subarray(0, keptBytes).toString("utf8");
  }
}

const keptBytes = 1024 * 1024;

const noGit = (): CliError =>
  new CliError(
    "There is no git on this machine",
    "Projects are cloned and pushed with it.",
    "Install it (Debian: `apt-get install git`), or use `holdfast projects export` and `import`.",
    exitCodes.usage,
  );
