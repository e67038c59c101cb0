import type { OperationName, OperationOutput } from "@holdfast/contract";
import { computerLine, computerList, usage } from "./computers.ts";
import { fileContent, fileLine, fileList } from "./files.ts";
import { deletedText, inputText, portList, principalText, recordList } from "./others.ts";
import { execResult, outputPart, processLine, processList } from "./processes.ts";
import { deployText, diffText, historyText, projectList, projectText } from "./projects.ts";
import {
  createdSchedule,
  previewText,
  runList,
  runOutput,
  runText,
  scheduleList,
  scheduleText,
} from "./schedules.ts";
import { serviceLine, serviceList, serviceLog } from "./services.ts";
import {
  acceptedText,
  childText,
  differenceText,
  holdLine,
  holdList,
  offerDiff,
  offerLine,
  offerList,
  restoredText,
  snapshotLine,
  snapshotList,
} from "./snapshots.ts";

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
  "computer.archive": computerLine,
  "computer.fork": computerLine,
  "computer.promote": computerLine,
  "hold.create": holdLine,
  "hold.renew": holdLine,
  "hold.list": holdList,
  "snapshot.create": snapshotLine,
  "snapshot.get": snapshotLine,
  "snapshot.delete": snapshotLine,
  "snapshot.list": snapshotList,
  "snapshot.restore": restoredText,
  "snapshot.diff": differenceText,
  "child.create": childText,
  "offer.create": offerLine,
  "offer.reject": offerLine,
  "offer.list": offerList,
  "offer.diff": offerDiff,
  "offer.accept": acceptedText,
  "schedule.create": createdSchedule,
  "schedule.get": scheduleText,
  "schedule.update": scheduleText,
  "schedule.pause": scheduleText,
  "schedule.resume": scheduleText,
  "schedule.delete": scheduleText,
  "schedule.list": scheduleList,
  "schedule.preview": previewText,
  "schedule.run": runText,
  "run.get": runText,
  "run.cancel": runText,
  "run.list": runList,
  "run.output": runOutput,
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
