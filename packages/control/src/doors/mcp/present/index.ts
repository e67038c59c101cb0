import type { OperationName, OperationOutput } from "@holdfast/contract";
import { computerLine, computerList, usage } from "./computers.ts";
import { fileContent, fileLine, fileList } from "./files.ts";
import { deletedText, inputText, portList, principalText, recordList } from "./others.ts";
import { execResult, outputPart, processLine, processList } from "./processes.ts";
import { deployText, diffText, historyText, projectList, projectText } from "./projects.ts";
import { serviceLine, serviceList, serviceLog } from "./services.ts";

type Presenters = {
  readonly [N in OperationName]?: (
    output: OperationOutput<N>,
    input: Readonly<Record<string, unknown>>,
  ) => string;
};

/** How a result reads. `structuredContent` has every field; the text has what a reader acts on. */
const presenters: Presenters = {
  "principal.get": principalText,
  "computer.create": computerLine,
  "computer.list": computerList,
  "computer.get": computerLine,
  "computer.update": computerLine,
  "computer.wake": computerLine,
  "computer.sleep": computerLine,
  "computer.stop": computerLine,
  "computer.destroy": computerLine,
  "computer.usage": usage,
  "process.exec": execResult,
  "process.start": processLine,
  "process.get": processLine,
  "process.signal": processLine,
  "process.list": processList,
  "process.output": outputPart,
  "service.create": serviceLine,
  "service.get": serviceLine,
  "service.update": serviceLine,
  "service.start": serviceLine,
  "service.stop": serviceLine,
  "service.restart": serviceLine,
  "service.delete": serviceLine,
  "service.list": serviceList,
  "service.logs": serviceLog,
  "file.read": fileContent,
  "file.write": fileLine,
  "file.stat": fileLine,
  "file.move": fileLine,
  "file.mkdir": fileLine,
  "file.list": fileList,
  "file.edit": ({ file, replaced }) => `${replaced} replaced in ${fileLine(file)}`,
  "file.delete": deletedText,
  "process.input": inputText,
  "project.create": projectText,
  "project.get": projectText,
  "project.update": projectText,
  "project.destroy": projectText,
  "project.list": projectList,
  "project.deploy": deployText,
  "project.restore": deployText,
  "project.history": historyText,
  "project.diff": diffText,
  "port.list": portList,
  "record.list": recordList,
};

export const present = (
  name: OperationName,
  output: Readonly<Record<string, unknown>>,
  input: Readonly<Record<string, unknown>>,
): string => {
  const presenter = presenters[name] as
    | ((output: Readonly<Record<string, unknown>>, input: Readonly<Record<string, unknown>>) => string)
    | undefined;
  return presenter ? presenter(output, input) : JSON.stringify(output);
};
