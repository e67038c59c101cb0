import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { HoldfastError } from "@holdfast/contract";
import { z } from "zod";
import { createBound } from "./turns.ts";

/**
 * `holdfast-agent host cell serve`: the system calls that Node lacks, and those for which starting a program of the host would take
 * longer than the work. One process for as long as this one runs; one that ended is started again with the next request.
 */
export interface HelperService {
  /** Rejects with `computer_failed` whose `step` names what failed; with another error, worth a new try, when the helper itself ended. */
  ask(verb: string, spec: object, timeoutMs?: number): Promise<unknown>;
}

const answerSchema = z.object({
  request: z.number().int(),
  reply: z.unknown().optional(),
  error: z.object({ step: z.string(), message: z.string() }).optional(),
});

interface Waiting {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The helper refuses more than 64 at once; what is asked beyond that waits here. */
const underWayAtMost = 60;

export const createHelperService = (options: {
  readonly agent: string;
  readonly timeoutMs: number;
}): HelperService => {
  const waiting = new Map<number, Waiting>();
  const bound = createBound(underWayAtMost);
  let process: ChildProcess | undefined;
  let last = 0;

  const settle = (line: string): void => {
    const { request, reply, error } = answerSchema.parse(JSON.parse(line));
    const waiter = waiting.get(request);
    waiting.delete(request);
    if (error) waiter?.reject(failed(error.step, error.message));
    else waiter?.resolve(reply);
  };

  const start = (): ChildProcess => {
    const started: ChildProcess = spawn(options.agent, ["host", "cell", "serve"], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
      cwd: "/",
    });
    const ended = (why: string): void => {
      if (process !== started) return;
      process = undefined;
      for (const { reject } of waiting.values())
        reject(new Error(`the helper of the supervisor is gone: ${why}`));
      waiting.clear();
    };
    // Before anything else: without a free descriptor it has no pipes, and this is all that comes.
    started.once("error", (error) => ended(`it could not be started: ${error.message}`));
    let unread = "";
    started.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (unread + chunk).split("\n");
      unread = lines.pop() ?? "";
      try {
        for (const line of lines) settle(line);
      } catch {
        // Not a word of ours: another program, or one that is broken. What waits learns of its end.
        started.kill("SIGKILL");
      }
      if (waiting.size === 0) hold(started, "unref");
    });
    // Not `exit`: by then its children, which have its output too, are gone, and nothing runs beside a second try.
    started.once("close", (status, signal) => ended(`it ended with ${signal ?? `status ${status}`}`));
    started.stdin?.on("error", () => {
      // It ended; `close` says so.
    });
    return started;
  };

  return {
    ask: (verb, spec, timeoutMs = options.timeoutMs) =>
      bound(
        () =>
          new Promise((resolve, reject) => {
            process ??= start();
            last += 1;
            waiting.set(last, { resolve, reject });
            hold(process, "ref");
            const timeout_s = Math.ceil(timeoutMs / 1000);
            process.stdin?.write(`${JSON.stringify({ request: last, timeout_s, verb, spec })}\n`);
          }),
      ),
  };
};

/** While it has nothing to do it does not keep us from ending; it ends with us. Node's pipes are sockets. */
const hold = (process: ChildProcess, how: "ref" | "unref"): void => {
  process[how]();
  for (const pipe of [process.stdin, process.stdout]) if (pipe instanceof Socket) pipe[how]();
};

const failed = (step: string, message: string): HoldfastError =>
  new HoldfastError("computer_failed", `the host refused: ${step}: ${message}`, { reason: "start", step });
