import type { OperationOutput } from "@holdfast/contract";
import { bytes, moreAt } from "./words.ts";

type Computer = OperationOutput<"computer.get">;

export const computerLine = (computer: Computer): string => {
  const moving =
    computer.state !== computer.desired_state && computer.state !== "failed" && computer.state !== "destroyed"
      ? `, on its way to ${computer.desired_state}: computer_get shows when`
      : "";
  const description = computer.description === "" ? "" : `: ${computer.description}`;
  const reason = computer.reason === null ? "" : `\n  reason: ${computer.reason}`;
  return `${computer.name} (${computer.id}) is ${computer.state}${moving}, ${computer.size}, version ${computer.version}${description}${reason}`;
};

export const computerList = (output: OperationOutput<"computer.list">): string =>
  output.computers.length === 0
    ? "No computers. Make one with computer_create."
    : [...output.computers.map(computerLine), ...moreAt("computer_list", output.next_cursor)].join("\n");

export const usage = (output: OperationOutput<"computer.usage">): string =>
  [
    `memory ${bytes(output.memory_bytes)} of ${bytes(output.memory_limit_bytes)}`,
    `disk ${bytes(output.disk_bytes)} of ${bytes(output.disk_limit_bytes)}`,
    `processes ${output.processes} of ${output.processes_limit}`,
    `CPU time ${(output.cpu_ms / 1000).toFixed(1)} s`,
    ...(output.out_of_memory_kills > 0 ? [`killed for memory: ${output.out_of_memory_kills}`] : []),
  ].join("\n");
