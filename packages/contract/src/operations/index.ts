import type { z } from "zod";
import * as computers from "./computers.ts";
import * as files from "./files.ts";
import * as holds from "./holds.ts";
import * as offers from "./offers.ts";
import * as principals from "./principals.ts";
import * as processes from "./processes.ts";
import * as projects from "./projects.ts";
import * as records from "./records.ts";
import * as runs from "./runs.ts";
import * as schedules from "./schedules.ts";
import * as services from "./services.ts";
import * as snapshots from "./snapshots.ts";
import * as visits from "./visits.ts";

export { everywhere, consequences, type Consequence, type Operation } from "./define.ts";
export { environmentSchema, nameSchema, pathSchema } from "./common.ts";
export { computerStates, computerView } from "./computers.ts";
export { fileView } from "./files.ts";
export { ceilings, keyView, ownerView, principalView } from "./principals.ts";
export { exitView, processView, signalNames } from "./processes.ts";
export {
  deploymentView,
  projectDefinition,
  projectService,
  projectView,
  slugSchema,
  templateNames,
} from "./projects.ts";
export { eventView, recordView } from "./records.ts";
export { holdView } from "./holds.ts";
export { runView } from "./runs.ts";
export { scheduleView } from "./schedules.ts";
export { serviceView } from "./services.ts";
export { offerView } from "./offers.ts";
export { differenceView, snapshotView } from "./snapshots.ts";
export { shareView } from "./visits.ts";

/** Every operation there is, in the order of the reference page and of `tools/list`. */
export const operations = {
  "principal.get": principals.principalGet,
  "computer.create": computers.computerCreate,
  "computer.list": computers.computerList,
  "computer.get": computers.computerGet,
  "computer.update": computers.computerUpdate,
  "computer.wake": computers.computerWake,
  "computer.sleep": computers.computerSleep,
  "computer.stop": computers.computerStop,
  "computer.archive": computers.computerArchive,
  "computer.fork": snapshots.computerFork,
  "computer.promote": computers.computerPromote,
  "computer.destroy": computers.computerDestroy,
  "computer.usage": computers.computerUsage,
  "hold.create": holds.holdCreate,
  "hold.renew": holds.holdRenew,
  "hold.list": holds.holdList,
  "hold.release": holds.holdRelease,
  "snapshot.create": snapshots.snapshotCreate,
  "snapshot.list": snapshots.snapshotList,
  "snapshot.get": snapshots.snapshotGet,
  "snapshot.delete": snapshots.snapshotDelete,
  "snapshot.restore": snapshots.snapshotRestore,
  "snapshot.diff": snapshots.snapshotDiff,
  "snapshot.export": snapshots.snapshotExport,
  "snapshot.import": snapshots.snapshotImport,
  "child.create": snapshots.childCreate,
  "offer.create": offers.offerCreate,
  "offer.list": offers.offerList,
  "offer.diff": offers.offerDiff,
  "offer.accept": offers.offerAccept,
  "offer.reject": offers.offerReject,
  "process.exec": processes.processExec,
  "process.start": processes.processStart,
  "process.list": processes.processList,
  "process.get": processes.processGet,
  "process.output": processes.processOutput,
  "process.follow": processes.processFollow,
  "process.input": processes.processInput,
  "process.signal": processes.processSignal,
  "process.resize": processes.processResize,
  "process.attach": processes.processAttach,
  "service.create": services.serviceCreate,
  "service.list": services.serviceList,
  "service.get": services.serviceGet,
  "service.update": services.serviceUpdate,
  "service.start": services.serviceStart,
  "service.stop": services.serviceStop,
  "service.restart": services.serviceRestart,
  "service.delete": services.serviceDelete,
  "service.logs": services.serviceLogs,
  "file.read": files.fileRead,
  "file.write": files.fileWrite,
  "file.edit": files.fileEdit,
  "file.list": files.fileList,
  "file.stat": files.fileStat,
  "file.move": files.fileMove,
  "file.delete": files.fileDelete,
  "file.mkdir": files.fileMkdir,
  "file.download": files.fileDownload,
  "file.upload": files.fileUpload,
  "file.watch": files.fileWatch,
  "archive.export": files.archiveExport,
  "archive.import": files.archiveImport,
  "project.create": projects.projectCreate,
  "project.list": projects.projectList,
  "project.get": projects.projectGet,
  "project.update": projects.projectUpdate,
  "project.destroy": projects.projectDestroy,
  "project.deploy": projects.projectDeploy,
  "project.history": projects.projectHistory,
  "project.diff": projects.projectDiff,
  "project.restore": projects.projectRestore,
  "project.export": projects.projectExport,
  "project.import": projects.projectImport,
  "project.publish": visits.projectPublish,
  "project.unpublish": visits.projectUnpublish,
  "project.open": visits.projectOpen,
  "project.access": visits.projectAccess,
  "share.create": visits.shareCreate,
  "share.list": visits.shareList,
  "share.revoke": visits.shareRevoke,
  "schedule.create": schedules.scheduleCreate,
  "schedule.list": schedules.scheduleList,
  "schedule.get": schedules.scheduleGet,
  "schedule.update": schedules.scheduleUpdate,
  "schedule.pause": schedules.schedulePause,
  "schedule.resume": schedules.scheduleResume,
  "schedule.delete": schedules.scheduleDelete,
  "schedule.preview": schedules.schedulePreview,
  "schedule.run": schedules.scheduleRun,
  "schedule.fire": schedules.scheduleFire,
  "run.list": runs.runList,
  "run.get": runs.runGet,
  "run.output": runs.runOutput,
  "run.cancel": runs.runCancel,
  "port.list": computers.portList,
  "record.list": records.recordList,
  "event.stream": records.eventStream,
  "key.create": principals.keyCreate,
  "key.list": principals.keyList,
  "key.revoke": principals.keyRevoke,
  "owner.list": principals.ownerList,
  "owner.invite": principals.ownerInvite,
  "owner.remove": principals.ownerRemove,
  "session.enrol": principals.sessionEnrol,
  "session.create": principals.sessionCreate,
  "session.get": principals.sessionGet,
  "session.confirm": principals.sessionConfirm,
  "session.delete": principals.sessionDelete,
} as const;

export type Operations = typeof operations;
export type OperationName = keyof Operations;
/** What a caller sends; defaults may be left out. */
export type OperationInput<Name extends OperationName> = z.input<Operations[Name]["input"]>;
/** What a handler gets: validated, defaults filled in. */
export type OperationParams<Name extends OperationName> = z.output<Operations[Name]["input"]>;
export type OperationOutput<Name extends OperationName> = z.output<Operations[Name]["output"]>;
export const operationNames = Object.keys(operations) as readonly OperationName[];
