import { type AgentProcessSpec, HoldfastError, limits, type OperationParams } from "@holdfast/contract";
import type { Computer } from "../../domain/computer.ts";

export type ExecParams = OperationParams<"process.exec">;
export type StartParams = OperationParams<"process.start">;

/** Longer input does not fit into the call beside the rest: it follows through a pipe. */
const inlineInputBytes = 384 * 1024;

/** How a process is to be started, and the input that is to be sent after it. */
export interface Launch {
  readonly spec: AgentProcessSpec;
  readonly input: Buffer | null;
}

export const launchOf = (id: string, computer: Computer, params: ExecParams | StartParams): Launch => {
  const input = inputOf(params);
  const held = holdsInput(params);
  const piped = input !== null && (held || input.length > inlineInputBytes);
  const stdin = piped || held ? "open" : input === null ? "closed" : { base64: input.toString("base64") };
  return {
    spec: {
      id,
      ...commandOf(params),
      cwd: params.cwd,
      env: { ...computer.environment, ...params.environment },
      user: params.user,
      stdin,
      timeout_ms: params.timeout_ms ?? 0,
      pty: ("terminal" in params && params.terminal) || null,
      output_limit_bytes: params.output_limit_bytes,
    },
    input: piped ? input : null,
  };
};

/** Whether standard input stays open: a terminal without anybody to type would end its shell at once. */
export const holdsInput = (params: ExecParams | StartParams): boolean =>
  "stdin_open" in params && (params.stdin_open || params.terminal !== undefined);

/** Throws `invalid_input` when there is not exactly one of `argv` and `command`. */
export const commandOf = (params: {
  readonly argv?: readonly string[] | undefined;
  readonly command?: string | undefined;
}): { readonly argv: readonly string[] } | { readonly shell: string } => {
  const { argv, command } = params;
  if (argv !== undefined && command === undefined) return { argv };
  if (command !== undefined && argv === undefined) return { shell: command };
  throw new HoldfastError("invalid_input", "give exactly one of `command` and `argv`", {
    issues: [{ path: ["command"], message: "exactly one of `command` and `argv`" }],
  });
};

/** What lists show: the command, shortened. */
export const commandText = (params: {
  readonly argv?: readonly string[] | undefined;
  readonly command?: string | undefined;
}): string => {
  const spec = commandOf(params);
  const text = "shell" in spec ? spec.shell : spec.argv.map(quoted).join(" ");
  if (text.length <= shownLength) return text;
  // Never half of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[shownLength - 1] ?? "") ? shownLength - 1 : shownLength;
  return `${text.slice(0, end)}…`;
};

const shownLength = 500;

const quoted = (argument: string): string =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;

const inputOf = (params: ExecParams | StartParams): Buffer | null => {
  if (params.stdin !== undefined && params.stdin_base64 !== undefined)
    throw new HoldfastError("invalid_input", "give at most one of `stdin` and `stdin_base64`", {
      issues: [{ path: ["stdin"], message: "at most one of `stdin` and `stdin_base64`" }],
    });
  const input =
    params.stdin_base64 === undefined
      ? params.stdin === undefined
        ? null
        : Buffer.from(params.stdin)
      : Buffer.from(params.stdin_base64, "base64");
  if (input && input.length > limits.stdinInlineBytes)
    throw new HoldfastError("invalid_input", `standard input is over ${limits.stdinInlineBytes} bytes`, {
      limit: limits.stdinInlineBytes,
      issues: [{ path: ["stdin"], message: "put more into a file, or use `process_input`" }],
    });
  return input;
};
