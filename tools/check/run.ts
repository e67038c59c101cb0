import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { root } from "../node24.mjs";

export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** The path of a pinned tool. */
export const tool = (name: string): string => join(root, "node_modules/.bin", name);

/** Runs a command in the repository and collects what it says; one that cannot be started has failed. */
export const run = (command: string, args: readonly string[], directory = root): Promise<Outcome> =>
  new Promise((resolve) => {
    const path = `${join(root, "node_modules/node/bin")}:${process.env["PATH"] ?? ""}`;
    const child = spawn(command, args, {
      cwd: directory,
      env: { ...process.env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer): void => {
      output += chunk.toString("utf8");
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) =>
      resolve({ ok: false, output: `${command} could not be started: ${error.message}` }),
    );
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
