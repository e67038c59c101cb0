export { command, plainEnvironment, tryCommand, type CommandOptions } from "./host/command.ts";
export { exists } from "./host/exists.ts";
export { withLock } from "./host/lock.ts";
export { watchChanges } from "./host/changes.ts";
export { findMount, readMounts, type Mount } from "./host/mounts.ts";
export { plainText } from "./host/plain-text.ts";
export { isAlive, readBootId } from "./host/process.ts";
export { removeTree } from "./host/remove.ts";
export { lookUpUser, userNames, type UserIds } from "./host/users.ts";
export { overlaps, readTakenRanges } from "./instance/id-ranges.ts";
export {
  cacheDirectory,
  defaultDataDirectory,
  hostDirectory,
  placesOf,
  type Places,
} from "./instance/places.ts";
export { createHostRegistry, imageBuilderRange, type HostRegistry } from "./instance/registry.ts";
export { readAnnouncedLabels } from "./launcher.ts";
export { readCertificate } from "./instance/certificate.ts";
export {
  projectsAddress,
  publicAddress,
  readSettings,
  writeSettings,
  type InstanceSettings,
  type ProjectsSettings,
} from "./instance/settings.ts";
export { warmCells } from "./instance/warm.ts";
export { findPostgresBinaries } from "./postgres/binaries.ts";
export { makeCluster, readMajor, writeAccessFiles } from "./postgres/cluster.ts";
export { createBackoff } from "./programs/backoff.ts";
export { copyCertificate } from "./programs/certificate-copy.ts";
export { ensureCompiled } from "./programs/compiled.ts";
export { recordPath, startKeeper } from "./programs/keeper.ts";
export { planLauncher } from "./programs/launcher-program.ts";
export type { ProgramPlan } from "./programs/plan.ts";
export { planPrograms } from "./programs/plans.ts";
export { readRecord, runningProgram } from "./programs/record.ts";
export { readProgramStatus, type ProgramStatus } from "./programs/status.ts";
export { stopProgram } from "./programs/stop.ts";
export { supervisorFlags } from "./programs/supervisor.ts";
