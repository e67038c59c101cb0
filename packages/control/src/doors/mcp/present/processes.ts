import type { OperationOutput } from "@holdfast/contract";
import { clip, moreAt } from "./words.ts";

type Process = OperationOutput<"process.get">;
type Input = Readonly<Record<string, unknown>>;

/** The exit first: a client that cuts the end of a long answer must not cut the most important word. */
export const execResult = (output: OperationOutput<"process.exec">): string => {
  const { process } = output;
  return [
    process.state === "ended"
      ? `${ending(process)} (process ${process.id})`
      : `still running (process ${process.id}). process_get {computer, process, wait_ms} waits for its end, process_output {computer, process, cursor: ${output.next_cursor}} reads on, process_signal ends it.`,
    ...skipped(output.truncated_bytes),
    ...section("stdout", output.stdout),
    ...section("stderr", output.stderr),
    ...(output.stdout === "" && output.stderr === "" ? ["(no output)"] : []),
    ...(output.more && process.state === "ended"
      ? [
          `There is more output: process_output {computer, process: "${process.id}", cursor: ${output.next_cursor}}.`,
        ]
      : []),
  ].join("\n");
};

export const outputPart = (output: OperationOutput<"process.output">, input: Input): string => {
  const id = String(input["process"]);
  const next = `process_output {computer, process: "${id}", cursor: ${output.next_cursor}}`;
  return [
    ...skipped(output.truncated_bytes),
    ...section("stdout", output.stdout),
    ...section("stderr", output.stderr),
    ...(output.stdout === "" && output.stderr === "" ? ["(nothing new)"] : []),
    output.more
      ? `There is more: ${next}.`
      : output.ended
        ? "It has ended and this is all of its output. process_get shows how it ended."
        : `It is still running. Read on with ${next}; wait_ms waits for something new.`,
  ].join("\n");
};

export const processLine = (process: Process): string => {
  const state = process.state === "ended" ? ending(process) : process.state;
  const notes = process.background ? " (children of it still run: process_signal ends them)" : "";
  return `${process.id} ${state}${notes}: ${clip(process.command, 200)}`;
};

export const processList = (output: OperationOutput<"process.list">): string =>
  output.processes.length === 0
    ? "No processes."
    : [...output.processes.map(processLine), ...moreAt("process_list", output.next_cursor)].join("\n");

const ending = (process: Process): string => {
  const how =
    process.exit?.kind === "signaled"
      ? `ended by signal ${process.exit.name} (exit code ${process.exit_code})`
      : process.exit?.kind === "exited"
        ? `exit code ${process.exit.code}`
        : "ended, its exit was not seen: the computer stopped before";
  const why = process.out_of_memory
    ? "; the computer ran out of memory"
    : process.timed_out
      ? "; its timeout_ms was over"
      : "";
  return `${how}${why}`;
};

const section = (name: string, text: string): readonly string[] =>
  text === "" ? [] : [`--- ${name} ---`, text.endsWith("\n") ? text.slice(0, -1) : text];

const skipped = (bytes: number): readonly string[] =>
  bytes > 0 ? [`(${bytes} bytes before this are no longer kept: output_limit_bytes sets how much is)`] : [];
