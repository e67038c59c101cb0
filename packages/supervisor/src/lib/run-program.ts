import { spawn, type ChildProcess } from "node:child_process";

export interface Outcome {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Runs a program of the host with an argument array, never a shell. */
export interface ProgramRunner {
  /** Rejects with what the program said when it fails, does not start or takes longer than `timeoutMs` (30 s by default). */
  run(program: string, args: readonly string[], options?: RunOptions): Promise<string>;
  /** The same, but a failing status is the caller's to judge. */
  outcome(program: string, args: readonly string[], options?: RunOptions): Promise<Outcome>;
}

const outputLimit = 16 * 1024 * 1024;
const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

export const createProgramRunner = (): ProgramRunner => {
  const outcome: ProgramRunner["outcome"] = (program, args, options = {}) =>
    new Promise((resolve, reject) => {
      const child: ChildProcess = spawn(program, args, {
        stdio: ["pipe", "pipe", "pipe"],
        env: environment,
        cwd: "/",
        timeout: options.timeoutMs ?? 30_000,
        killSignal: "SIGKILL",
      });
      // Before anything else: without a free descriptor the child has no pipes, and this is all that comes.
      child.once("error", (cause) =>
        reject(new Error(`${program} could not be started: ${cause.message}`, { cause })),
      );
      const output = { stdout: "", stderr: "" };
      const collect = (name: "stdout" | "stderr") => (chunk: string) => {
        if (output[name].length + chunk.length <= outputLimit) output[name] += chunk;
      };
      child.stdout?.setEncoding("utf8").on("data", collect("stdout"));
      child.stderr?.setEncoding("utf8").on("data", collect("stderr"));
      child.stdin?.on("error", () => {
        // The program ended without reading everything; its status says why.
      });
      child.once("close", (status, signal) => resolve({ status, signal, ...output }));
      child.stdin?.end(options.input ?? "");
    });

  return {
    outcome,
    run: async (program, args, options) => {
      const ended = await outcome(program, args, options);
      if (ended.status === 0) return ended.stdout;
      const how = ended.status === null ? `signal ${ended.signal}` : `status ${ended.status}`;
      const said = ended.stderr.trim() || ended.stdout.trim();
      throw new Error(`${program} ${args.slice(0, 3).join(" ")} ended with ${how}: ${said.slice(0, 2000)}`);
    },
  };
};
