import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import {
  changesOf,
  commandFields,
  computerRef,
  ifMatch,
  nameSchema,
  nextCursor,
  page,
  reachErrors,
  scheduleRef,
  timestamp,
  version,
} from "./common.ts";
import { operation } from "./define.ts";
import { projectRef } from "./projects.ts";
import { runId, runView } from "./runs.ts";

/** When its slots are. Exactly one of `cron`, `every_ms`, `at` and `event` is given; all may be fired by hand. */
export const timingFields = {
  cron: z
    .string()
    .max(limits.scheduleTextLength)
    .optional()
    .describe("Five fields (minute hour day month weekday), or six with seconds first; in `time_zone`"),
  every_ms: z
    .number()
    .int()
    .min(limits.scheduleEveryMinMs)
    .max(366 * 24 * 3600 * 1000)
    .optional()
    .describe("A slot each time so long has passed, counted from its creation"),
  at: z.iso
    .datetime({ offset: true, error: "a time with its zone, such as 2027-01-31T09:00:00Z" })
    .optional()
    .describe("One slot at this time (RFC 3339)"),
  event: z
    .boolean()
    .optional()
    .describe("No slots: a run whenever its run address is posted to with its own key"),
};

export const scheduleFields = {
  time_zone: z
    .string()
    .max(64)
    .default("UTC")
    .describe(
      "IANA name for `cron`, such as Europe/Berlin. A local time that a change of clocks skips runs at the moment of the change; one that comes twice runs the first time only. A line with `*` or a step in its minute or hour goes on by the time that passes",
    ),
  ...commandFields,
  timeout_ms: z
    .number()
    .int()
    .min(1000)
    .max(limits.runMaxMs)
    .default(limits.runMs)
    .describe("A run that takes longer is ended, and has timed out"),
  missed: z
    .enum(["skip", "run_once", "run_each"])
    .default("run_once")
    .describe("What becomes of slots that passed while nothing could run: none, the latest, or each"),
  missed_most: z
    .number()
    .int()
    .min(1)
    .max(limits.missedRuns)
    .default(10)
    .describe("For `run_each`: the latest so many"),
  overlap: z
    .enum(["skip", "queue", "replace"])
    .default("skip")
    .describe(
      "A slot while the run before still goes on: skip it, wait for the other's end, or end the other",
    ),
  retries: z
    .number()
    .int()
    .min(0)
    .max(limits.runRetries)
    .default(0)
    .describe("How often a failed run is tried again, within the same run"),
  retry_backoff_ms: z
    .number()
    .int()
    .min(1000)
    .max(3_600_000)
    .default(10_000)
    .describe("Before the first retry; doubled for each further one, an hour at most"),
  retries_per_day: z
    .number()
    .int()
    .min(0)
    .max(limits.runRetriesPerDay)
    .default(24)
    .describe("Budget over all its runs, in a day of UTC"),
  place: z
    .enum(["computer", "fork"])
    .default("computer")
    .describe("Run on the computer itself, or in a clean fork of it that is destroyed afterwards"),
};

export const scheduleView = z.looseObject({
  id: idSchema("schedule"),
  computer: z.string(),
  project: z.string().nullable(),
  name: z.string(),
  state: z.enum(["active", "paused", "ended"]).describe("`ended`: it has no further slot"),
  cron: z.string().nullable(),
  every_ms: z.number().nullable(),
  at: timestamp.nullable(),
  event: z.boolean(),
  time_zone: z.string(),
  command: z.string().nullable(),
  argv: z.array(z.string()).nullable(),
  cwd: z.string(),
  environment: z.record(z.string(), z.string()),
  user: z.object({ uid: z.number(), gid: z.number() }),
  timeout_ms: z.number(),
  missed: z.string(),
  missed_most: z.number(),
  overlap: z.string(),
  retries: z.number(),
  retry_backoff_ms: z.number(),
  retries_per_day: z.number(),
  place: z.string(),
  next_slot: timestamp.nullable(),
  last_run: runView.nullable(),
  run_address: z.string().nullable().describe("Of an event schedule: where its runs are started by POST"),
  owner: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  version,
});

const one = { schedule: scheduleRef, computer: computerRef.optional().describe("Needed with a name") };
const route = "/v1/schedules/{schedule}" as const;
const reach = [...reachErrors, "disk_full", "process_limit", "spawn_failed"] as const;

export const scheduleCreate = operation({
  name: "schedule.create",
  title: "Create a schedule",
  summary: "Run a command at set times, also while nobody is connected",
  description:
    "Declares a command that runs at its slots: `cron` in a time zone, `every_ms`, once `at` a time, or by `event` (the reply then has the run address, and `event_key`, shown once). Each slot makes exactly one run; the computer is woken for it. Give `project` to run in the project's folder and show it there. Exactly one of `command` and `argv`, which finds HOLDFAST_RUN, HOLDFAST_ATTEMPT and, of a slot, HOLDFAST_SLOT in its environment.",
  input: z.object({
    computer: computerRef.optional().describe("Where it runs. Give this or `project`"),
    project: projectRef.optional(),
    name: nameSchema.describe("Unique on the computer"),
    ...timingFields,
    ...scheduleFields,
    paused: z.boolean().default(false).describe("Make no runs until it is resumed"),
  }),
  output: z.looseObject({
    ...scheduleView.shape,
    event_key: z.string().nullable().describe("Of an event schedule, shown once: send it as Bearer token"),
  }),
  route: { method: "POST", path: "/v1/schedules" },
  errors: ["not_found", "name_taken", "wrong_state", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  idempotent: true,
  versioned: true,
  cost: "computer_time",
  command: { noun: "schedules", verb: "create", arguments: ["name"] },
});

export const scheduleList = operation({
  name: "schedule.list",
  title: "List schedules",
  summary: "List schedules with their next slot and last run",
  description: "Lists the schedules you may see, newest first; of one computer or project when it is given.",
  input: z.object({ computer: computerRef.optional(), project: projectRef.optional(), ...page }),
  output: z.looseObject({ schedules: z.array(scheduleView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/schedules" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "schedules", verb: "list", arguments: [] },
});

export const scheduleGet = operation({
  name: "schedule.get",
  title: "Look at a schedule",
  summary: "Show one schedule",
  description: "Answers one schedule with its next slot and its last run.",
  input: z.object(one),
  output: scheduleView,
  route: { method: "GET", path: route },
  errors: ["not_found"],
  consequence: "observe",
  versioned: true,
  command: { noun: "schedules", verb: "show", arguments: ["schedule"] },
});

export const scheduleUpdate = operation({
  name: "schedule.update",
  title: "Change a schedule",
  summary: "Change when or what a schedule runs",
  description:
    "Replaces the fields you give. Another timing counts from now: slots of the old one that have not come are dropped. Runs under way keep what they began with.",
  input: z.object({ ...one, ...timingFields, ...changesOf(scheduleFields), if_match: ifMatch }),
  output: scheduleView,
  route: { method: "PATCH", path: route },
  errors: ["not_found", "version_mismatch", "version_required"],
  consequence: "prepare",
  versioned: true,
  repeatable: true,
  command: { noun: "schedules", verb: "update", arguments: ["schedule"] },
});

const turn = <const Name extends "schedule.pause" | "schedule.resume">(
  name: Name,
  words: { readonly title: string; readonly summary: string; readonly description: string },
) =>
  operation({
    name,
    ...words,
    input: z.object(one),
    output: scheduleView,
    route: { method: "POST", path: `${route}/${name.split(".")[1] ?? ""}` },
    errors: ["not_found"],
    consequence: "prepare",
    versioned: true,
    repeatable: true,
    command: { noun: "schedules", verb: name.split(".")[1] ?? "", arguments: ["schedule"] },
  });

export const schedulePause = turn("schedule.pause", {
  title: "Pause a schedule",
  summary: "Make no runs until it is resumed",
  description:
    "Slots that come while it is paused are not missed: nothing makes up for them. A run under way goes on.",
});
export const scheduleResume = turn("schedule.resume", {
  title: "Resume a schedule",
  summary: "Let a paused schedule run again",
  description: "Its next slot is the first one from now.",
});

export const scheduleDelete = operation({
  name: "schedule.delete",
  title: "Delete a schedule",
  summary: "Delete a schedule and its runs",
  description: "Deletes the schedule with what is known of its runs. A run under way is ended.",
  input: z.object(one),
  output: scheduleView,
  route: { method: "DELETE", path: route },
  errors: ["not_found"],
  consequence: "prepare",
  destructive: true,
  repeatable: true,
  command: { noun: "schedules", verb: "delete", arguments: ["schedule"] },
});

export const schedulePreview = operation({
  name: "schedule.preview",
  title: "Preview slots",
  summary: "Show the next slots of a timing, of a schedule or before making one",
  description:
    "Answers the next slots in UTC and in local time. Give `schedule`, or a timing (`cron`, `every_ms` or `at`, and `time_zone`) to try it out. Nothing is made.",
  input: z.object({
    schedule: scheduleRef.optional(),
    computer: computerRef.optional(),
    cron: timingFields.cron,
    every_ms: z.coerce
      .number()
      .int()
      .min(limits.scheduleEveryMinMs)
      .max(366 * 24 * 3600 * 1000)
      .optional(),
    at: timingFields.at,
    time_zone: z.string().max(64).optional(),
    count: z.coerce.number().int().min(1).max(limits.previewSlots).default(5),
  }),
  output: z.looseObject({
    slots: z.array(
      z.looseObject({ at: timestamp, local: z.string().describe("The same moment in the time zone") }),
    ),
  }),
  route: { method: "GET", path: "/v1/schedule-preview" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "schedules", verb: "preview", arguments: [] },
});

export const scheduleRun = operation({
  name: "schedule.run",
  title: "Run a schedule now",
  summary: "Start a run by hand; its slots stay as they are",
  description:
    "Starts a run now, also of a paused schedule, and waits up to `wait_ms` for its end. It takes no slot's place, and no slot is skipped for it; where runs queue it takes its turn.",
  input: z.object({
    ...one,
    wait_ms: z
      .number()
      .int()
      .min(0)
      .max(limits.waitMs)
      .default(20_000)
      .describe("How long to wait for its end"),
  }),
  output: runView,
  route: { method: "POST", path: `${route}/run` },
  errors: [...reach, "limit_reached", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "schedules", verb: "run", arguments: ["schedule"] },
});

export const scheduleFire = operation({
  name: "schedule.fire",
  title: "Start a run by an event",
  summary: "Start a run of an event schedule with its own key",
  description:
    "What others call at a schedule's run address, with the schedule's key as Bearer token. `payload`, or a body that has none of these fields (at most 64 KiB of JSON), is given to the command on standard input. Answers at once; a run that comes at the wrong time is there as skipped.",
  input: z.object({
    schedule: idSchema("schedule"),
    key: z
      .string()
      .max(200)
      .optional()
      .describe("The schedule's key, where it cannot be sent as Bearer token"),
    payload: z.unknown().optional().describe("Given to the command on standard input, as JSON"),
  }),
  output: z.looseObject({ run: runId, state: z.string() }),
  route: { method: "POST", path: `${route}/fire` },
  errors: ["limit_reached", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  scope: "public",
  outside: { token: "key", body: "payload", bodyBytes: limits.eventBodyBytes },
  idempotent: true,
  command: { noun: "schedules", verb: "fire", arguments: ["schedule"] },
});
