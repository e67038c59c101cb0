import type { OperationOutput } from "@holdfast/contract";
import { clip, moreAt } from "./words.ts";

type Schedule = OperationOutput<"schedule.get">;
type Run = OperationOutput<"run.get">;

export const scheduleText = (schedule: Schedule): string =>
  [
    scheduleLine(schedule),
    `  command: ${clip(commandOf(schedule), 300)}`,
    ...(schedule.run_address === null ? [] : [`  POST to ${schedule.run_address} starts a run`]),
    ...(schedule.last_run === null ? [] : [`  last run: ${runLine(schedule.last_run)}`]),
  ].join("\n");

export const createdSchedule = (output: OperationOutput<"schedule.create">): string =>
  [
    scheduleText(output),
    ...(output.event_key === null
      ? []
      : [`The key for its run address, shown this once (send it as Bearer token): ${output.event_key}`]),
  ].join("\n");

export const scheduleList = (output: OperationOutput<"schedule.list">): string =>
  output.schedules.length === 0
    ? "No schedules. Make one with schedule_create."
    : [
        ...output.schedules.map((schedule) =>
          schedule.last_run === null
            ? scheduleLine(schedule)
            : `${scheduleLine(schedule)}\n  last run: ${runLine(schedule.last_run)}`,
        ),
        ...moreAt("schedule_list", output.next_cursor),
      ].join("\n");

export const previewText = (output: OperationOutput<"schedule.preview">): string =>
  output.slots.length === 0
    ? "It has no further slot."
    : output.slots.map(({ at, local }) => `${at} (${local})`).join("\n");

export const runText = (run: Run): string => {
  if (run.ended_at !== null) return `${runLine(run)}\nrun_output shows what it printed.`;
  return `${runLine(run)}\nrun_get with wait_ms waits for its end.`;
};

export const runList = (output: OperationOutput<"run.list">): string =>
  output.runs.length === 0
    ? "No runs."
    : [...output.runs.map(runLine), ...moreAt("run_list", output.next_cursor)].join("\n");

export const runOutput = (output: OperationOutput<"run.output">): string =>
  [
    ...(output.truncated_bytes > 0 ? [`(${output.truncated_bytes} bytes are no longer kept)`] : []),
    output.text === "" ? "(nothing printed)" : output.text,
    ...(output.more ? [`… it goes on: run_output with cursor ${output.next_cursor}.`] : []),
  ].join("\n");

const scheduleLine = (schedule: Schedule): string => {
  const next = schedule.next_slot === null ? "" : `, next at ${schedule.next_slot}`;
  return `${schedule.name} (${schedule.id}) on ${schedule.computer} is ${schedule.state}, ${timingOf(schedule)}${next}, version ${schedule.version}`;
};

const timingOf = ({ cron, every_ms: every, at, time_zone: zone }: Schedule): string => {
  if (cron !== null) return `cron ${cron} in ${zone}`;
  if (every !== null) return `every ${every / 1000} s`;
  return at === null ? "by event" : `once at ${at}`;
};

const commandOf = ({ command, argv }: Schedule): string => command ?? (argv ?? []).join(" ");

const runLine = (run: Run): string =>
  [
    `${run.id} ${run.state.replaceAll("_", " ")}`,
    ...(run.exit?.kind === "exited" ? [`exit code ${run.exit.code}`] : []),
    ...(run.exit?.kind === "signaled" ? [`ended by ${run.exit.name}`] : []),
    ...(run.timed_out ? ["timed out"] : []),
    ...(run.slot === null ? [run.cause] : [`for ${run.slot}`]),
    ...(run.attempt > 1 ? [`attempt ${run.attempt}`] : []),
    ...(run.woke === null ? [] : [`it woke the computer, which was ${run.woke}`]),
    ...(run.duration_ms === null ? [] : [`took ${(run.duration_ms / 1000).toFixed(1)} s`]),
    ...(run.reason === null ? [] : [clip(run.reason, 300)]),
  ].join(", ");
