import { type OperationOutput, operations } from "@holdfast/contract";
import type { App } from "../app.ts";
import { call, type Override, usageError } from "../commands/from-operation.ts";
import { shownOnce } from "../commands/shown-once.ts";
import { oneLine } from "../config/contexts.ts";
import { readPrivateFile } from "../config/private-file.ts";
import { exitCodes, ExitWith } from "../errors.ts";
import { print } from "../present/index.ts";
import { showNamed, withNames } from "../present/names.ts";
import { followRun } from "./runs.ts";

/** Schedule verbs that take or show more than fields. */
export const scheduleOverrides = {
  "schedule.create": {
    ...shownOnce({
      name: "schedule.create",
      field: "event_key",
      words: "The key for its run address",
      subject: (output) => output,
    }),
    complete: (_app, input) => {
      if (input["computer"] === undefined && input["project"] === undefined)
        throw usageError(
          "There is no place to run",
          "Neither --computer nor --project was given.",
          "For example: holdfast schedules create nightly --computer box --cron '0 3 * * *' -- ./backup.sh",
        );
      const timings = ["cron", "every_ms", "at", "event"].filter((name) => input[name] !== undefined);
      if (timings.length !== 1)
        throw usageError(
          timings.length === 0 ? "There is no time to run at" : "There is more than one time to run at",
          "Exactly one of --cron, --every, --at and --event says when.",
          "For example: --cron '0 3 * * *' --time-zone Europe/Berlin, or --every 15m. Try it: holdfast schedules preview --cron '0 3 * * *'",
        );
      return input;
    },
  },
  "schedule.list": {
    show: async (app, output) => {
      const { schedules, ...page } = output as OperationOutput<"schedule.list">;
      const shown = await withNames(app, schedules, { computer: "computer", project: "project" });
      await print(app, "schedule.list", { schedules: shown, ...page });
    },
  },
  "schedule.get": { show: showNamed("schedule.get") },
  "schedule.preview": {
    complete: (_app, input) => {
      if (["schedule", "cron", "every_ms", "at"].every((name) => input[name] === undefined))
        throw usageError(
          "There is nothing to preview",
          "Neither a schedule nor a timing was given.",
          "For example: holdfast schedules preview --cron '0 3 * * 1-5' --time-zone Europe/Berlin",
        );
      return input;
    },
  },
  "schedule.run": {
    description:
      "Starts a run now, beside its slots, also of a paused schedule, and waits up to --wait for its end. With --follow what it prints is shown as it comes, and its exit code becomes ours; else a run that failed ends with 1.",
    extend: (command) => command.option("-f, --follow", "Show what it prints until it ends"),
    run: async ({ app, input, values, idempotencyKey }) => {
      const follows = values["follow"] === true;
      const send = follows ? { ...input, wait_ms: 0 } : input;
      const run = (await call(
        app,
        operations["schedule.run"],
        send,
        idempotencyKey,
      )) as OperationOutput<"schedule.run">;
      if (follows) return followRun(app, run.id);
      await print(app, "schedule.run", run);
      if (run.ended_at === null) app.console.hint(`It goes on: holdfast runs follow ${run.id}`);
      else app.console.hint(`What it printed: holdfast runs output ${run.id}`);
      if (run.state === "failed") throw new ExitWith(exitCodes.failed);
    },
  },
  "schedule.fire": {
    description:
      "What others do at the run address of an event schedule, with its own key and not yours: starts a run, which gets --payload on standard input. Answers at once.",
    omit: ["key"],
    extend: (command) =>
      command.requiredOption("--event-key <file>", "File with the schedule's key; - for standard input"),
    run: async ({ app, input, values, idempotencyKey }) => {
      const key = await eventKey(app, String(values["eventKey"]));
      const client = await app.publicClient();
      const options = idempotencyKey === undefined ? {} : { idempotencyKey };
      await print(app, "schedule.fire", await client.call("schedule.fire", { ...input, key }, options));
    },
  },
  "schedule.update": {
    complete: async (app, input) => {
      if (input["if_match"] !== undefined) return input;
      const { schedule, computer } = input as { schedule: string; computer?: string };
      const { version } = await (await app.client()).schedules.get({
        schedule,
        ...(computer === undefined ? {} : { computer }),
      });
      return { ...input, if_match: version };
    },
  },
} satisfies Readonly<Record<string, Override>>;

const eventKey = async (app: App, file: string): Promise<string> => {
  if (file === "-") return oneLine(await app.readAllStdin(), "Standard input");
  const text = await readPrivateFile(file);
  if (text === undefined)
    throw usageError(
      "There is no key",
      `${file} does not exist.`,
      "It was shown or saved when the schedule was made.",
    );
  return oneLine(text, file);
};
