import { z } from "zod";
import { idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import { computerRef, processId, timestamp } from "./common.ts";
import { operation } from "./define.ts";

const holdId = idSchema("hold").describe("The hold's id (hld_…)");
const forMs = z
  .number()
  .int()
  .min(1000)
  .max(limits.holdMs)
  .default(5 * 60_000)
  .describe("How long from now; renew it before that");

export const holdView = z.looseObject({
  id: idSchema("hold"),
  computer: z.string(),
  reason: z.string(),
  process: z.string().nullable().describe("The process it ends with"),
  taken_by: z.string(),
  taken_at: timestamp,
  expires_at: timestamp,
});

export const holdCreate = operation({
  name: "hold.create",
  title: "Keep a computer awake",
  summary: "Keep a computer from sleeping for a while",
  description:
    "Takes a hold: until it expires or is released the computer neither sleeps nor stops by itself. For work that shows neither in its processor time nor in requests. Renew it (`hold_renew`) as a heartbeat; with `process` it also ends with that process.",
  input: z.object({
    computer: computerRef,
    reason: z.string().min(1).max(200).describe("What for; shown to the owner"),
    process: processId.optional(),
    for_ms: forMs,
  }),
  output: holdView,
  route: { method: "POST", path: "/v1/computers/{computer}/holds" },
  errors: [
    "not_found",
    "wrong_state",
    "computer_failed",
    "limit_reached",
    "operation_running",
    "idempotency_mismatch",
  ],
  consequence: "prepare",
  idempotent: true,
  cost: "computer_time",
  command: { noun: "holds", verb: "create", arguments: ["computer"] },
});

const one = { computer: computerRef, hold: holdId };

export const holdRenew = operation({
  name: "hold.renew",
  title: "Renew a hold",
  summary: "Let a hold last longer",
  description: "The hold now lasts for `for_ms` from now. One that has expired is gone: take another.",
  input: z.object({ ...one, for_ms: forMs }),
  output: holdView,
  route: { method: "POST", path: "/v1/computers/{computer}/holds/{hold}/renew" },
  errors: ["not_found"],
  consequence: "prepare",
  repeatable: true,
  cost: "computer_time",
  command: { noun: "holds", verb: "renew", arguments: ["computer", "hold"] },
});

export const holdList = operation({
  name: "hold.list",
  title: "List holds",
  summary: "Show what keeps a computer awake",
  description: "Lists the holds on a computer that have not expired.",
  input: z.object({ computer: computerRef }),
  output: z.looseObject({ holds: z.array(holdView) }),
  route: { method: "GET", path: "/v1/computers/{computer}/holds" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "holds", verb: "list", arguments: ["computer"] },
});

export const holdRelease = operation({
  name: "hold.release",
  title: "Release a hold",
  summary: "End a hold before its time",
  description: "Ends the hold. Releasing one that is gone is fine.",
  input: z.object(one),
  output: z.looseObject({ released: z.boolean() }),
  route: { method: "DELETE", path: "/v1/computers/{computer}/holds/{hold}" },
  errors: ["not_found"],
  consequence: "prepare",
  repeatable: true,
  command: { noun: "holds", verb: "release", arguments: ["computer", "hold"] },
});
