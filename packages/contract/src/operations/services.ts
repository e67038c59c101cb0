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
  serviceRef,
  timestamp,
  version,
} from "./common.ts";
import { operation } from "./define.ts";
import { exitView } from "./processes.ts";

const port = z.number().int().min(1).max(65_535);

const probe = z
  .object({
    kind: z.enum(["tcp", "http"]),
    port: port.optional().describe("Default: the service's port"),
    path: z
      .string()
      .startsWith("/")
      .max(1024)
      .default("/")
      .describe("For http: any status below 400 is good"),
    interval_ms: z.number().int().min(limits.probesIntervalMinMs).max(3_600_000).default(5000),
    timeout_ms: z.number().int().min(50).max(60_000).default(2000),
    failures: z.number().int().min(1).max(100).default(3),
  })
  .strict();

/** What a service is. Create takes it whole; update replaces the fields it is given. */
export const serviceDefinition = {
  ...commandFields,
  port: port.optional().describe("The TCP port it listens on"),
  readiness: probe
    .nullable()
    .optional()
    .describe("How to tell that it is ready; default: its port accepts TCP, or at once without a port"),
  liveness: probe.nullable().optional().describe("When this fails it is restarted; default none"),
  restart: z
    .object({
      policy: z.enum(["always", "on_failure", "never"]).default("always"),
      min_backoff_ms: z.number().int().min(100).max(3_600_000).default(500),
      max_backoff_ms: z.number().int().min(100).max(3_600_000).default(60_000),
      limit: z
        .number()
        .int()
        .min(0)
        .max(1000)
        .default(0)
        .describe("Restarts in ten minutes before it counts as failed; 0: no limit"),
    })
    .strict()
    .default({ policy: "always", min_backoff_ms: 500, max_backoff_ms: 60_000, limit: 0 }),
  after: z
    .array(nameSchema)
    .max(limits.servicesPerComputer)
    .default([])
    .describe("Names of services that must be ready first"),
  stop_signal: z.enum(["TERM", "INT", "QUIT", "HUP", "USR1", "USR2"]).default("TERM"),
  stop_grace_ms: z.number().int().min(0).max(300_000).default(10_000),
  output_limit_bytes: z
    .number()
    .int()
    .min(4096)
    .max(limits.outputLimitMaxBytes)
    .default(limits.outputLimitBytes),
};

export const serviceView = z.looseObject({
  id: idSchema("service"),
  computer: z.string(),
  name: z.string(),
  command: z.string().nullable(),
  argv: z.array(z.string()).nullable(),
  cwd: z.string(),
  environment: z.record(z.string(), z.string()),
  user: z.object({ uid: z.number(), gid: z.number() }),
  port: z.number().nullable(),
  readiness: z.looseObject({}).nullable(),
  liveness: z.looseObject({}).nullable(),
  restart: z.looseObject({}),
  after: z.array(z.string()),
  stop_signal: z.string(),
  stop_grace_ms: z.number(),
  output_limit_bytes: z.number(),
  desired_state: z.enum(["running", "stopped"]),
  state: z
    .enum([
      "unknown",
      "stopped",
      "waiting",
      "starting",
      "ready",
      "unhealthy",
      "backoff",
      "stopping",
      "failed",
    ])
    .describe("`unknown` while the computer is not awake"),
  reason: z.string().nullable(),
  /** In a row: none of the runs between them lasted a minute. */
  restarts: z.number(),
  exit: exitView,
  ready_at: timestamp.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
  version,
});

const waits = {
  wait_ms: z
    .number()
    .int()
    .min(0)
    .max(limits.waitMs)
    .default(20_000)
    .describe("How long to wait for it to be ready or failed"),
};
const errors = ["not_found", "wrong_state", "cell_unreachable", "computer_failed", "host_full"] as const;

export const serviceCreate = operation({
  name: "service.create",
  title: "Create a service",
  summary: "Declare a process that is always kept running",
  description:
    "Declares a long-running process. It starts now, is restarted when it ends, and starts again whenever the computer does. The reply shows its state after `wait_ms`; read `service_logs` if it is not `ready`. Exactly one of `command` and `argv`.",
  input: z.object({ computer: computerRef, name: nameSchema, ...serviceDefinition, ...waits }),
  output: serviceView,
  route: { method: "POST", path: "/v1/computers/{computer}/services" },
  errors: [...errors, "name_taken", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  idempotent: true,
  versioned: true,
  command: { noun: "services", verb: "create", arguments: ["computer", "name"] },
});

const one = { computer: computerRef, service: serviceRef };

export const serviceList = operation({
  name: "service.list",
  title: "List services",
  summary: "List the services of a computer",
  description: "Lists the services declared on the computer with their states.",
  input: z.object({ computer: computerRef, ...page }),
  output: z.looseObject({ services: z.array(serviceView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/computers/{computer}/services" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "services", verb: "list", arguments: ["computer"] },
});

export const serviceGet = operation({
  name: "service.get",
  title: "Look at a service",
  summary: "Show one service",
  description: "Answers one service: its definition and what it is doing.",
  input: z.object(one),
  output: serviceView,
  route: { method: "GET", path: "/v1/computers/{computer}/services/{service}" },
  errors: ["not_found"],
  consequence: "observe",
  versioned: true,
  command: { noun: "services", verb: "show", arguments: ["computer", "service"] },
});

export const serviceUpdate = operation({
  name: "service.update",
  title: "Change a service",
  summary: "Change a service's definition",
  description: "Replaces the fields you give and restarts the service if what it runs has changed.",
  input: z.object({ ...one, ...changesOf(serviceDefinition), if_match: ifMatch, ...waits }),
  output: serviceView,
  route: { method: "PATCH", path: "/v1/computers/{computer}/services/{service}" },
  errors: [...errors, "version_mismatch", "version_required"],
  consequence: "prepare",
  versioned: true,
  repeatable: true,
  command: { noun: "services", verb: "update", arguments: ["computer", "service"] },
});

const verb = <const Name extends string>(name: Name, title: string, summary: string, description: string) =>
  operation({
    name,
    title,
    summary,
    description,
    input: z.object({ ...one, ...waits }),
    output: serviceView,
    route: {
      method: "POST",
      path: `/v1/computers/{computer}/services/{service}/${name.split(".")[1] ?? ""}`,
    },
    errors,
    consequence: "prepare",
    versioned: true,
    repeatable: true,
    command: { noun: "services", verb: name.split(".")[1] ?? "", arguments: ["computer", "service"] },
  });

export const serviceStart = verb(
  "service.start",
  "Start a service",
  "Start a stopped service",
  "Starts a stopped or failed service.",
);
export const serviceStop = verb(
  "service.stop",
  "Stop a service",
  "Stop a service and keep it stopped",
  "Stops the service (stop signal, then kill after the grace time) and keeps it stopped until it is started.",
);
export const serviceRestart = verb(
  "service.restart",
  "Restart a service",
  "Restart a service",
  "Stops and starts the service.",
);

export const serviceDelete = operation({
  name: "service.delete",
  title: "Delete a service",
  summary: "Stop a service and forget it",
  description: "Stops the service and removes its definition and log.",
  input: z.object(one),
  output: serviceView,
  route: { method: "DELETE", path: "/v1/computers/{computer}/services/{service}" },
  errors: ["not_found", "wrong_state"],
  consequence: "prepare",
  destructive: true,
  repeatable: true,
  command: { noun: "services", verb: "delete", arguments: ["computer", "service"] },
});

export const serviceLogs = operation({
  name: "service.logs",
  title: "Read a service's log",
  summary: "Read a service's output from a cursor",
  description:
    "Answers the end of the log, or what comes after `cursor`. With `wait_ms` it waits for something new first.",
  input: z.object({
    ...one,
    cursor: z.coerce.number().int().min(0).optional().describe("Default: as much of the end as fits"),
    max_bytes: z.coerce
      .number()
      .int()
      .min(1)
      .max(1024 * 1024)
      .default(limits.replyTextBytes),
    wait_ms: z.coerce.number().int().min(0).max(limits.waitMs).default(0),
  }),
  output: z.looseObject({
    text: z.string(),
    next_cursor: z.number(),
    more: z.boolean(),
    truncated_bytes: z.number(),
  }),
  route: { method: "GET", path: "/v1/computers/{computer}/services/{service}/logs" },
  errors: [...errors, "computer_starting"],
  consequence: "observe",
  command: { noun: "services", verb: "logs", arguments: ["computer", "service"] },
});
