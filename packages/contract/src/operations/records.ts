import { z } from "zod";
import { idSchema } from "../ids.ts";
import { nextCursor, page, timestamp } from "./common.ts";
import { operation } from "./define.ts";

export const recordView = z.looseObject({
  id: z.string(),
  operation: z.string(),
  principal: z.string(),
  target: z.string().nullable(),
  outcome: z.enum(["running", "succeeded", "failed", "refused", "unknown"]),
  error: z.string().nullable().describe("Error code, when refused or failed"),
  input_digest: z.string().describe("SHA-256 of the validated input"),
  started_at: timestamp,
  duration_ms: z.number().nullable(),
});

export const recordList = operation({
  name: "record.list",
  title: "List what was done",
  summary: "List recorded operations, newest first",
  description:
    "Who did what to which target, with which outcome. An assistant sees its own; an owner sees all.",
  input: z.object({
    ...page,
    target: z.string().max(64).optional().describe("Only of this target's id"),
    operation: z.string().max(64).optional().describe("Only this operation, for example computer.create"),
    outcome: z.enum(["running", "succeeded", "failed", "refused", "unknown"]).optional(),
  }),
  output: z.looseObject({ records: z.array(recordView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/records" },
  consequence: "observe",
  command: { noun: "records", verb: "list", arguments: [] },
});

export const eventView = z.looseObject({
  id: z.number().describe("Number for Last-Event-ID"),
  kind: z.string().describe("For example computer.awake, process.ended, service.failed"),
  target: z.string().nullable(),
  at: timestamp,
  data: z.looseObject({}),
});

export const eventStream = operation({
  name: "event.stream",
  title: "Stream events",
  summary: "Stream what happens, as it happens",
  description:
    "Server-sent events of everything you may see. `Last-Event-ID` (or `after`) resumes without a gap while the events are kept.",
  input: z.object({
    after: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe("Events after this number; default: from now on"),
    computer: idSchema("computer").optional().describe("Only of this computer"),
  }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/events" },
  reply: "events",
  consequence: "observe",
  command: { noun: "events", verb: "follow", arguments: [] },
});
