export { Clockwork } from "./clockwork.ts";
export { createDefinitions } from "./definitions.ts";
export { fire } from "./fire.ts";
export { Runner } from "./runner.ts";
export { type AdmittedRun, Runs } from "./runs.ts";
export { type AdmittedSchedule, Schedules } from "./schedules.ts";
export { Timings } from "./timing.ts";
export { runView, type ScheduleView } from "./view.ts";
