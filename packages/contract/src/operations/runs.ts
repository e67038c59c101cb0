import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import { computerRef, flag, nextCursor, page, reachErrors, scheduleRef, timestamp } from "./common.ts";
import { operation } from "./define.ts";
import { exitView } from "./processes.ts";

export const runId = idSchema("run").describe("The run's id (run_…)");

export const runView = z.looseObject({
  id: idSchema("run"),
  schedule: z.string(),
  computer: z.string(),
  cause: z.enum(["slot", "missed", "manual", "event"]),
  slot: timestamp.nullable().describe("The time it is for; null: by hand or by an event"),
  state: z.enum(["queued", "running", "waiting_to_retry", "succeeded", "failed", "skipped", "cancelled"]),
  reason: z.string().nullable().describe("Why it failed or was skipped"),
  attempt: z.number().describe("1 for the first try"),
  process: z.string().nullable().describe("Of the last attempt"),
  exit: exitView,
  timed_out: z.boolean(),
  woke: z
    .enum(["asleep", "stopped", "archived"])
    .nullable()
    .describe("What the computer was before the run woke it; null: it was awake"),
  fork: z.string().nullable().describe("The fork it runs in"),
  output_bytes: z.number(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  duration_ms: z.number().nullable(),
});

export const runList = operation({
  name: "run.list",
  title: "List runs",
  summary: "List the runs of a schedule or computer, newest first",
  description: "Lists runs with how they ended.",
  input: z.object({
    schedule: scheduleRef.optional(),
    computer: computerRef.optional(),
    failed: flag.optional().describe("Only those that failed"),
    ...page,
  }),
  output: z.looseObject({ runs: z.array(runView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/runs" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "runs", verb: "list", arguments: [] },
});

export const runGet = operation({
  name: "run.get",
  title: "Look at a run",
  summary: "Show one run",
  description: "Answers one run; with `wait_ms` it waits for its end first.",
  input: z.object({ run: runId, wait_ms: z.coerce.number().int().min(0).max(limits.waitMs).default(0) }),
  output: runView,
  route: { method: "GET", path: "/v1/runs/{run}" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "runs", verb: "show", arguments: ["run"] },
});

export const runOutput = operation({
  name: "run.output",
  title: "Read a run's output",
  summary: "Read what a run printed, from a cursor",
  description:
    "Answers the output of a run's last attempt, from `cursor`. It is kept on the computer (for a run in a fork: outside, its end only), which is woken for it.",
  input: z.object({
    run: runId,
    cursor: z.coerce.number().int().min(0).default(0),
    max_bytes: z.coerce
      .number()
      .int()
      .min(1)
      .max(1024 * 1024)
      .default(limits.replyTextBytes),
  }),
  output: z.looseObject({
    text: z.string(),
    next_cursor: z.number(),
    more: z.boolean(),
    truncated_bytes: z.number(),
  }),
  route: { method: "GET", path: "/v1/runs/{run}/output" },
  errors: reachErrors,
  consequence: "observe",
  command: { noun: "runs", verb: "output", arguments: ["run"] },
});

export const runCancel = operation({
  name: "run.cancel",
  title: "Cancel a run",
  summary: "End a run, or take it out of the queue",
  description:
    "Ends the run's processes and makes no further attempt. Cancelling one that has ended is fine.",
  input: z.object({ run: runId }),
  output: runView,
  route: { method: "POST", path: "/v1/runs/{run}/cancel" },
  errors: ["not_found"],
  consequence: "prepare",
  repeatable: true,
  command: { noun: "runs", verb: "cancel", arguments: ["run"] },
});
