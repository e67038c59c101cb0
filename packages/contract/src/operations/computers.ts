import { z } from "zod";
import { idSchema } from "../ids.ts";
import { computerSizeNames, limits } from "../limits.ts";
import {
  computerRef,
  environmentSchema,
  ifMatch,
  nameSchema,
  nextCursor,
  page,
  timestamp,
  version,
} from "./common.ts";
import { operation } from "./define.ts";

export const computerStates = [
  "creating",
  "awake",
  "asleep",
  "stopped",
  "archived",
  "failed",
  "destroyed",
] as const;
const size = z
  .enum(computerSizeNames)
  .describe("small: 1 CPU, 1 GiB, 5 GiB disk; medium: 2, 4 GiB, 20 GiB; large: 4, 16 GiB, 80 GiB");

export const computerView = z.looseObject({
  id: idSchema("computer"),
  name: z.string(),
  description: z.string(),
  state: z.enum(computerStates).describe("What it is now"),
  desired_state: z
    .enum(["awake", "asleep", "stopped", "archived", "destroyed"])
    .describe("What it is on its way to"),
  reason: z.string().nullable().describe("Why it failed or is where it is, when there is something to say"),
  size,
  environment: z.record(z.string(), z.string()),
  owner: z.string().describe("The principal it belongs to"),
  created_at: timestamp,
  updated_at: timestamp,
  awake_since: timestamp.nullable(),
  active_at: timestamp.describe("When something was last done on it, as far as is known"),
  sleep_after_ms: z.number().describe("Idle time until it sleeps; 0: never"),
  stop_after_ms: z.number().describe("Time asleep until it is stopped; 0: never"),
  archive_after_ms: z.number().describe("Time stopped until it is archived; 0: never"),
  keep_awake: z.boolean().describe("It neither sleeps nor stops by itself"),
  keep_hourly: z.number().describe("Automatic snapshots that are kept, of one an hour"),
  keep_daily: z.number(),
  keep_weekly: z.number(),
  expires_at: timestamp.nullable().describe("When it is destroyed by itself; null: durable"),
  parent: z.string().nullable().describe("The computer it is a child of, and ends with"),
  origin: z.string().nullable().describe("The snapshot it was made from"),
  version,
});

const idle = (what: string) =>
  z
    .number()
    .int()
    .refine(
      (ms) => ms === 0 || (ms >= limits.lifecycleMinMs && ms <= limits.lifecycleMaxMs),
      `0, or from ${limits.lifecycleMinMs} to ${limits.lifecycleMaxMs} milliseconds`,
    )
    .optional()
    .describe(what);
const kept = (what: string) =>
  z.number().int().min(0).max(limits.snapshotsRetained).optional().describe(what);

/** What it does by itself. Without a value: what its size has (sleep, stop), or nothing. */
export const lifecycleFields = {
  sleep_after_ms: idle("Idle time until it sleeps; 0: never"),
  stop_after_ms: idle("Time asleep until it is stopped; 0: never"),
  archive_after_ms: idle("Time stopped until it is archived; 0 (the default): never"),
  keep_awake: z.boolean().optional().describe("Never sleep or stop by itself"),
  keep_hourly: kept("How many automatic hourly snapshots are kept; 0 (the default): none are made"),
  keep_daily: kept("Likewise, of one a day"),
  keep_weekly: kept("Likewise, of one a week"),
};

export const lifetime = z
  .number()
  .int()
  .min(limits.lifetimeMinMs)
  .max(limits.lifetimeMaxMs)
  .optional()
  .describe("Destroy it after this time unless it is promoted before. Default: it is durable");

const awaits = {
  wait_ms: z.coerce
    .number()
    .int()
    .min(0)
    .max(limits.waitMs)
    .default(20_000)
    .describe("How long to wait for the new state; the reply shows where it is by then"),
};

export const computerCreate = operation({
  name: "computer.create",
  title: "Create a computer",
  summary: "Create a durable computer and start it",
  description:
    "Creates a Linux computer (Debian 12 with git, curl, Python 3 and Node 24) that keeps its files, services and installed packages until it is destroyed. It is ready when `state` is `awake`. Reuse a computer you have (`computer_list`) rather than making one for each task.",
  input: z.object({
    name: nameSchema.describe("Unique name, for example `site-monitor`"),
    size: size.default("small"),
    description: z
      .string()
      .max(limits.descriptionLength)
      .default("")
      .describe("What it is for; shown in lists"),
    environment: environmentSchema.default({}).describe("Variables for every process and service on it"),
    ...lifecycleFields,
    lifetime_ms: lifetime,
    ...awaits,
  }),
  output: computerView,
  route: { method: "POST", path: "/v1/computers" },
  errors: [
    "name_taken",
    "ceiling_reached",
    "host_full",
    "operation_running",
    "idempotency_mismatch",
    "computer_failed",
  ],
  consequence: "prepare",
  idempotent: true,
  versioned: true,
  cost: "computer_time",
  command: { noun: "computers", verb: "create", arguments: ["name"] },
});

export const computerList = operation({
  name: "computer.list",
  title: "List computers",
  summary: "List your computers",
  description: "Lists the computers you may use, newest first, with their states.",
  input: z.object({ ...page, state: z.enum(computerStates).optional().describe("Only those in this state") }),
  output: z.looseObject({ computers: z.array(computerView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/computers" },
  consequence: "observe",
  command: { noun: "computers", verb: "list", arguments: [] },
});

export const computerGet = operation({
  name: "computer.get",
  title: "Look at a computer",
  summary: "Show one computer",
  description: "Answers one computer with its state, size and environment.",
  input: z.object({ computer: computerRef }),
  output: computerView,
  route: { method: "GET", path: "/v1/computers/{computer}" },
  errors: ["not_found"],
  consequence: "observe",
  versioned: true,
  command: { noun: "computers", verb: "show", arguments: ["computer"] },
});

export const computerUpdate = operation({
  name: "computer.update",
  title: "Change a computer",
  summary: "Change name, description, size, environment or what it does by itself",
  description:
    "Changes the fields you give. `environment` replaces the whole set; later processes see the new one, running ones keep theirs. A larger size takes effect at once.",
  input: z.object({
    computer: computerRef,
    name: nameSchema.optional(),
    description: z.string().max(limits.descriptionLength).optional(),
    size: size.optional(),
    environment: environmentSchema.optional(),
    ...lifecycleFields,
    if_match: ifMatch,
  }),
  output: computerView,
  route: { method: "PATCH", path: "/v1/computers/{computer}" },
  errors: [
    "not_found",
    "name_taken",
    "version_mismatch",
    "version_required",
    "ceiling_reached",
    "wrong_state",
  ],
  consequence: "prepare",
  versioned: true,
  repeatable: true,
  command: { noun: "computers", verb: "update", arguments: ["computer"] },
});

const transition = <const Name extends string>(
  name: Name,
  words: { readonly title: string; readonly summary: string; readonly description: string },
  options: { readonly errors?: readonly ("host_full" | "computer_failed" | "wrong_state")[] } = {},
) =>
  operation({
    name,
    ...words,
    input: z.object({ computer: computerRef, ...awaits }),
    output: computerView,
    route: { method: "POST", path: `/v1/computers/{computer}/${name.split(".")[1] ?? ""}` },
    errors: ["not_found", "wrong_state", ...(options.errors ?? [])],
    consequence: "prepare",
    versioned: true,
    repeatable: true,
    command: { noun: "computers", verb: name.split(".")[1] ?? "", arguments: ["computer"] },
  });

export const computerWake = transition(
  "computer.wake",
  {
    title: "Wake a computer",
    summary: "Bring a sleeping or stopped computer back",
    description:
      "Wakes a computer that is asleep (processes continue where they were) or stopped or failed (its services start again). Running a command or a file operation wakes it by itself.",
  },
  { errors: ["host_full", "computer_failed"] },
);

export const computerSleep = transition("computer.sleep", {
  title: "Put a computer to sleep",
  summary: "Freeze a computer, keeping memory and processes",
  description: "Freezes all processes; memory is kept and no CPU is used until it wakes.",
});

export const computerStop = transition("computer.stop", {
  title: "Stop a computer",
  summary: "End all processes, keep the disk",
  description:
    "Ends services and processes (SIGTERM, then kill) and keeps the disk. Waking it, or whatever needs it running (a command, a file operation), starts its services again.",
});

export const computerArchive = transition(
  "computer.archive",
  {
    title: "Archive a computer",
    summary: "Stop a computer and pack its disk into one compressed file",
    description:
      "Stops the computer and packs its disk into one compressed, checksummed file that takes less room. Waking it, or whatever needs it running, unpacks it again by itself; that takes longer than waking a stopped one.",
  },
  { errors: ["host_full", "computer_failed"] },
);

export const computerPromote = operation({
  name: "computer.promote",
  title: "Make a computer durable",
  summary: "Let an ephemeral computer or a child stay for good",
  description:
    "Takes away its lifetime and its bond to a parent. Nothing on it is touched: state, services and addresses stay as they are.",
  input: z.object({ computer: computerRef }),
  output: computerView,
  route: { method: "POST", path: "/v1/computers/{computer}/promote" },
  errors: ["not_found", "ceiling_reached", "name_taken"],
  consequence: "prepare",
  versioned: true,
  repeatable: true,
  command: { noun: "computers", verb: "promote", arguments: ["computer"] },
});

export const computerDestroy = operation({
  name: "computer.destroy",
  title: "Destroy a computer",
  summary: "Delete a computer and everything on it",
  description:
    "Deletes the computer with all its files, snapshots and children, for good. Export what should stay first.",
  input: z.object({ computer: computerRef }),
  output: computerView,
  route: { method: "DELETE", path: "/v1/computers/{computer}" },
  errors: ["not_found"],
  consequence: "modify",
  destructive: true,
  repeatable: true,
  command: { noun: "computers", verb: "destroy", arguments: ["computer"] },
});

export const computerUsage = operation({
  name: "computer.usage",
  title: "Measure a computer",
  summary: "Show CPU, memory, disk and processes in use",
  description: "Answers what the computer uses now and its limits, as measured outside of it.",
  input: z.object({ computer: computerRef }),
  output: z.looseObject({
    cpu_ms: z.number().describe("CPU time since its last start, milliseconds"),
    memory_bytes: z.number(),
    memory_limit_bytes: z.number(),
    processes: z.number(),
    processes_limit: z.number(),
    disk_bytes: z.number(),
    disk_limit_bytes: z.number(),
    out_of_memory_kills: z.number(),
  }),
  route: { method: "GET", path: "/v1/computers/{computer}/usage" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "computers", verb: "usage", arguments: ["computer"] },
});

export const portList = operation({
  name: "port.list",
  title: "List listening ports",
  summary: "Show what listens on which port",
  description: "Lists the TCP and UDP ports that processes on the computer listen on.",
  input: z.object({ computer: computerRef }),
  output: z.looseObject({
    ports: z.array(
      z.looseObject({
        port: z.number(),
        address: z.string(),
        protocol: z.string(),
        process_id: z.string().nullable(),
      }),
    ),
  }),
  route: { method: "GET", path: "/v1/computers/{computer}/ports" },
  errors: ["not_found", "wrong_state", "cell_unreachable", "computer_failed"],
  consequence: "observe",
  command: { noun: "ports", verb: "list", arguments: ["computer"] },
});
