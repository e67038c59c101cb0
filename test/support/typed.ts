import { spawn } from "node:child_process";
import process from "node:process";
import type { CliUser } from "./cli.ts";

/** Runs the command on a terminal of `script`, 80 by 24, typing each text once what comes before it has appeared. */
export const typeInto = (
  cli: Pick<CliUser, "environment" | "home" | "program">,
  argv: readonly string[],
  keys: readonly (readonly [string, string])[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly screen: string }> =>
  new Promise((resolve, reject) => {
    const line = ["exec", process.execPath, cli.program, ...argv].join(" ");
    const child = spawn("script", ["-qfec", `stty cols 80 rows 24; ${line}`, "/dev/null"], {
      cwd: cli.home,
      env: { ...cli.environment, TERM: "xterm", ...environment },
    });
    const waiting = [...keys];
    let screen = "";
    let from = 0;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      screen += text;
      const [next] = waiting;
      if (!next || !screen.slice(from).includes(next[0])) return;
      from = screen.length;
      waiting.shift();
      child.stdin.write(next[1]);
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, screen }));
  });
