import type { OperationOutput } from "@holdfast/contract";
import { moreAt } from "./words.ts";

export const principalText = (principal: OperationOutput<"principal.get">): string => {
  const who = `You are ${principal.kind} ${principal.name} (${principal.id}).`;
  const until = principal.expires_at === null ? [] : [`The key ends at ${principal.expires_at}.`];
  if (!principal.ceilings) return [who, ...until].join("\n");
  const { computers, consequence, largest_size: size, name_prefix: prefix } = principal.ceilings;
  return [
    who,
    `Computers: ${principal.computers} of at most ${computers}, up to size ${size}${prefix === "" ? "" : `, names begin with ${prefix}`}.`,
    `Highest class of operation: ${consequence}.`,
    ...until,
  ].join("\n");
};

export const portList = (output: OperationOutput<"port.list">): string =>
  output.ports.length === 0
    ? "Nothing listens."
    : output.ports
        .map(
          ({ address, port, process_id: id, protocol }) =>
            `${protocol} ${address}:${port}${id === null ? "" : ` (${id})`}`,
        )
        .join("\n");

export const recordList = (output: OperationOutput<"record.list">): string =>
  output.records.length === 0
    ? "Nothing is recorded."
    : [
        ...output.records.map(
          ({ error, operation, outcome, started_at: at, target }) =>
            `${at} ${operation} ${outcome}${error === null ? "" : ` (${error})`}${target === null ? "" : ` on ${target}`}`,
        ),
        ...moreAt("record_list", output.next_cursor),
      ].join("\n");

export const inputText = (output: OperationOutput<"process.input">): string =>
  `${output.accepted_bytes} bytes accepted. process_output shows what the process says to it.`;

export const deletedText = (output: OperationOutput<"file.delete">): string =>
  `${output.deleted} entries deleted.`;
