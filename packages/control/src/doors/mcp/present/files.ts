import type { OperationOutput } from "@holdfast/contract";
import { moreAt } from "./words.ts";

type File = OperationOutput<"file.stat">;

export const fileLine = (file: File): string => {
  const target = file.target === null ? "" : ` -> ${file.target}`;
  return `${file.path}${target} (${file.kind}, ${file.size_bytes} bytes, mode ${file.mode}, version ${file.version})`;
};

export const fileContent = (output: OperationOutput<"file.read">): string => {
  const rest =
    output.next_offset === null
      ? []
      : [
          `… the file goes on: file_read with offset ${output.next_offset} (it has ${output.file.size_bytes} bytes).`,
        ];
  return [fileLine(output.file), output.content, ...rest].join("\n");
};

export const fileList = (output: OperationOutput<"file.list">): string =>
  output.entries.length === 0
    ? "The directory is empty."
    : [...output.entries.map(entry), ...moreAt("file_list", output.next_cursor)].join("\n");

const entry = (file: File): string => {
  if (file.kind === "directory") return `${file.path}/`;
  return file.kind === "file"
    ? `${file.path} ${file.size_bytes} bytes`
    : `${file.path} (${file.kind}${file.target === null ? "" : ` -> ${file.target}`})`;
};
