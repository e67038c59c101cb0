import { z } from "zod";
import { limits } from "../limits.ts";
import { commandFields, computerRef, nextCursor, page, processId, timestamp } from "./common.ts";
import { operation } from "./define.ts";

export const exitView = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("exited"), code: z.number() }),
    z.object({ kind: z.literal("signaled"), signal: z.number(), name: z.string() }),
    z.object({ kind: z.literal("lost") }),
  ])
  .nullable()
  .describe("How it ended; `lost` means the computer stopped before its exit was seen");

export const processView = z.looseObject({
  id: processId,
  computer: z.string().describe("The computer's id"),
  command: z.string(),
  state: z.enum(["starting", "running", "ended"]),
  exit: exitView,
  exit_code: z
    .number()
    .nullable()
    .describe("Exit code, 128 + signal when ended by a signal, null while running or lost"),
  timed_out: z.boolean(),
  out_of_memory: z.boolean(),
  background: z.boolean().describe("It has ended but children of it still run"),
  terminal: z.boolean(),
  stdin_open: z.boolean(),
  started_by: z.string(),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  output_bytes: z.number(),
  dropped_bytes: z.number().describe("Output bytes the capture no longer holds"),
});

const outputFields = {
  stdout: z
    .string()
    .describe(
      "Text; bytes that are not UTF-8 appear as U+FFFD (use process output with `encoding` base64 for all bytes)",
    ),
  stderr: z.string(),
  next_cursor: z.number().describe("Give this as `cursor` to `process_output` to read on"),
  more: z.boolean().describe("There is output after `next_cursor` already"),
  truncated_bytes: z.number().describe("Bytes before this that the capture no longer holds"),
};

const runFields = {
  ...commandFields,
  stdin: z
    .string()
    .max(limits.stdinInlineBytes)
    .optional()
    .describe("Text for standard input; without it input is empty"),
  stdin_base64: z
    .base64()
    .max(Math.ceil((limits.stdinInlineBytes * 4) / 3) + 4)
    .optional()
    .describe("Bytes for standard input"),
  timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(limits.processTimeoutMs)
    .optional()
    .describe("Kill the whole process tree after this time; default none"),
  output_limit_bytes: z
    .number()
    .int()
    .min(4096)
    .max(limits.outputLimitMaxBytes)
    .default(limits.outputLimitBytes)
    .describe("Output kept; the oldest is dropped first"),
};

const runErrors = [
  "not_found",
  "wrong_state",
  "spawn_failed",
  "process_limit",
  "host_full",
  "cell_unreachable",
  "computer_starting",
  "computer_failed",
  "operation_running",
  "idempotency_mismatch",
] as const;

export const processExec = operation({
  name: "process.exec",
  title: "Run a command",
  summary: "Run a command and wait for its result",
  description:
    "Runs a command on the computer and answers its output and exit code. If it is still running after `wait_ms`, the reply has `state: running` and the process id: poll `process_get` or `process_output`. It goes on either way. Wakes the computer if needed. Exactly one of `command` and `argv`.",
  input: z.object({
    computer: computerRef,
    ...runFields,
    wait_ms: z
      .number()
      .int()
      .min(0)
      .max(limits.waitMs)
      .default(limits.execDefaultWaitMs)
      .describe("How long to wait before handing over the process id"),
    max_output_bytes: z
      .number()
      .int()
      .min(0)
      .max(1024 * 1024)
      .default(limits.replyTextBytes)
      .describe("Most output in this reply; the rest is read with a cursor"),
    encoding: z
      .enum(["text", "base64"])
      .default("text")
      .describe("base64: `stdout` and `stderr` carry exact bytes"),
  }),
  output: z.looseObject({ process: processView, ...outputFields }),
  route: { method: "POST", path: "/v1/computers/{computer}/exec" },
  errors: runErrors,
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  tool: "exec",
  command: { noun: "processes", verb: "exec", arguments: ["computer"] },
});

export const processStart = operation({
  name: "process.start",
  title: "Start a background process",
  summary: "Start a process and answer at once",
  description:
    "Starts a process and answers its id at once. Read it with `process_output`, wait with `process_get`, end it with `process_signal`. For something that should always run, create a service instead.",
  input: z.object({
    computer: computerRef,
    ...runFields,
    stdin_open: z.boolean().default(false).describe("Keep standard input open for `process_input`"),
    keep_awake: z
      .boolean()
      .default(false)
      .describe("While it runs the computer neither sleeps nor stops by itself"),
    terminal: z
      .object({
        columns: z.number().int().min(1).max(limits.terminalColumns),
        rows: z.number().int().min(1).max(limits.terminalRows),
      })
      .optional()
      .describe("Run it on a terminal (PTY) of this size"),
  }),
  output: processView,
  route: { method: "POST", path: "/v1/computers/{computer}/processes" },
  errors: runErrors,
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "processes", verb: "start", arguments: ["computer"] },
});

const one = { computer: computerRef, process: processId };
/** Output and input are on the computer: it is woken for them, asleep or stopped. */
const agentErrors = [
  "not_found",
  "wrong_state",
  "host_full",
  "cell_unreachable",
  "computer_starting",
  "computer_failed",
] as const;

export const processList = operation({
  name: "process.list",
  title: "List processes",
  summary: "List processes, newest first",
  description: "Lists the processes started on the computer, running and ended (the last 1,000).",
  input: z.object({ computer: computerRef, ...page, state: z.enum(["running", "ended"]).optional() }),
  output: z.looseObject({ processes: z.array(processView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/computers/{computer}/processes" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "processes", verb: "list", arguments: ["computer"] },
});

export const processGet = operation({
  name: "process.get",
  title: "Look at a process",
  summary: "Show one process, or wait for its end",
  description:
    "Answers the state of a process. With `wait_ms` it waits for the end first, at most that long. Wakes nothing.",
  input: z.object({ ...one, wait_ms: z.coerce.number().int().min(0).max(limits.waitMs).default(0) }),
  output: processView,
  route: { method: "GET", path: "/v1/computers/{computer}/processes/{process}" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "processes", verb: "show", arguments: ["computer", "process"] },
});

export const processOutput = operation({
  name: "process.output",
  title: "Read a process's output",
  summary: "Read captured output from a cursor",
  description:
    "Answers output captured from `cursor` on (0 is the beginning). With `wait_ms` it waits for something new first. Read on with `next_cursor` until `ended` is true and `more` is false. Wakes the computer if needed: the output is on its disk.",
  input: z.object({
    ...one,
    cursor: z.coerce.number().int().min(0).default(0),
    max_bytes: z.coerce
      .number()
      .int()
      .min(1)
      .max(1024 * 1024)
      .default(limits.replyTextBytes),
    wait_ms: z.coerce.number().int().min(0).max(limits.waitMs).default(0),
    encoding: z.enum(["text", "base64"]).default("text"),
  }),
  output: z.looseObject({ ...outputFields, ended: z.boolean() }),
  route: { method: "GET", path: "/v1/computers/{computer}/processes/{process}/output" },
  errors: agentErrors,
  consequence: "observe",
  command: { noun: "processes", verb: "output", arguments: ["computer", "process"] },
});

export const processFollow = operation({
  name: "process.follow",
  title: "Follow a process's output",
  summary: "Stream output as it comes",
  description:
    "Server-sent events: `output` {stream, base64, cursor}, `dropped` {bytes}, and `end` with the process. `Last-Event-ID` is a cursor to go on from.",
  input: z.object({ ...one, cursor: z.coerce.number().int().min(0).default(0) }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/computers/{computer}/processes/{process}/follow" },
  reply: "events",
  errors: agentErrors,
  consequence: "observe",
  command: { noun: "processes", verb: "follow", arguments: ["computer", "process"] },
});

export const processInput = operation({
  name: "process.input",
  title: "Write to a process",
  summary: "Send text to standard input",
  description:
    "Writes to the standard input of a process started with `stdin_open` or `terminal`. `close` ends the input after it.",
  input: z.object({
    ...one,
    text: z.string().max(limits.stdinInlineBytes).optional(),
    base64: z
      .base64()
      .max(Math.ceil((limits.stdinInlineBytes * 4) / 3) + 4)
      .optional(),
    close: z.boolean().default(false),
  }),
  output: z.looseObject({ accepted_bytes: z.number() }),
  route: { method: "POST", path: "/v1/computers/{computer}/processes/{process}/input" },
  errors: [...agentErrors, "process_ended"],
  consequence: "prepare",
  command: { noun: "processes", verb: "input", arguments: ["computer", "process"] },
});

export const signalNames = [
  "HUP",
  "INT",
  "QUIT",
  "KILL",
  "USR1",
  "USR2",
  "TERM",
  "CONT",
  "STOP",
  "TSTP",
  "WINCH",
] as const;

export const processSignal = operation({
  name: "process.signal",
  title: "Signal or end a process",
  summary: "Send a signal; `tree` reaches its children too",
  description:
    "Sends a signal. `scope: tree` reaches every process it started, however detached; signal KILL with `tree` always ends all of it.",
  input: z.object({
    ...one,
    signal: z.enum(signalNames).default("TERM"),
    scope: z.enum(["process", "tree"]).default("tree"),
  }),
  output: processView,
  route: { method: "POST", path: "/v1/computers/{computer}/processes/{process}/signal" },
  errors: [...agentErrors, "process_ended"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "processes", verb: "signal", arguments: ["computer", "process"] },
});

export const processResize = operation({
  name: "process.resize",
  title: "Resize a terminal",
  summary: "Change the size of a process's terminal",
  description: "Tells a process that runs on a terminal its new size.",
  input: z.object({
    ...one,
    columns: z.number().int().min(1).max(limits.terminalColumns),
    rows: z.number().int().min(1).max(limits.terminalRows),
  }),
  output: processView,
  route: { method: "POST", path: "/v1/computers/{computer}/processes/{process}/resize" },
  errors: [...agentErrors, "process_ended"],
  consequence: "prepare",
  repeatable: true,
  tool: null,
  command: { noun: "processes", verb: "resize", arguments: ["computer", "process"] },
});

export const processAttach = operation({
  name: "process.attach",
  title: "Attach to a terminal",
  summary: "A two-way stream to a process on a terminal",
  description:
    "A WebSocket. Binary messages are terminal bytes in both directions, history from `cursor` first; text messages are JSON: `{type: resize, columns, rows}` to the process, `{type: end, process}` from it. Closing detaches; the process goes on.",
  input: z.object({ ...one, cursor: z.coerce.number().int().min(0).optional() }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/computers/{computer}/processes/{process}/attach" },
  reply: "terminal",
  errors: [...agentErrors, "process_ended"],
  consequence: "prepare",
  command: { noun: "processes", verb: "attach", arguments: ["computer", "process"] },
});
