import { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import { idPattern, idSchema } from "../ids.ts";
import { limits } from "../limits.ts";

/** Names of computers and services: lower-case letters, digits and single hyphens. Never the form of an id. */
export const nameSchema = z
  .string()
  .min(1)
  .max(limits.nameLength)
  .regex(
    /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/,
    "lower-case letters, digits and single hyphens, beginning with a letter",
  );

/** A computer by id or by name (names are unique within what the caller may see). */
export const computerRef = z
  .string()
  .max(64)
  .refine(
    (text) => idPattern("computer").test(text) || nameSchema.safeParse(text).success,
    "a computer's id (cmp_…) or name",
  )
  .describe("The computer: its id (cmp_…) or its name");

export const serviceRef = z
  .string()
  .max(64)
  .refine(
    (text) => idPattern("service").test(text) || nameSchema.safeParse(text).success,
    "a service's id (svc_…) or name",
  )
  .describe("The service: its id (svc_…) or its name");

/** A schedule by id or by name: names are unique on a computer; an id is unique everywhere. */
export const scheduleRef = z
  .string()
  .max(64)
  .refine(
    (text) => idPattern("schedule").test(text) || nameSchema.safeParse(text).success,
    "a schedule's id (sch_…) or name",
  )
  .describe("The schedule: its id (sch_…) or its name");

export const processId = idSchema("process").describe("The process id (prc_…)");

export const pathSchema = z
  .string()
  .min(1)
  .max(limits.pathBytes)
  .startsWith("/", "an absolute path")
  .refine((path) => !path.includes("\0"), "no NUL")
  .describe("Absolute path inside the computer; projects live under /work");

export const page = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.pageSizeMax)
    .default(limits.pageSize)
    .describe("Most items to answer"),
  cursor: z.string().max(200).optional().describe("`next_cursor` of the page before"),
};

export const nextCursor = z
  .string()
  .nullable()
  .describe("Give this as `cursor` for the next page; null at the end");

/** What keeps an operation from the inside of a computer. */
export const reachErrors = [
  "not_found",
  "wrong_state",
  "cell_unreachable",
  "computer_starting",
  "computer_failed",
  "host_full",
] as const satisfies readonly ErrorCode[];

export const timestamp = z.string().describe("RFC 3339 time in UTC");

export const version = z.string().describe("Give this as `if_match` when updating");
export const ifMatch = z
  .string()
  .max(200)
  .optional()
  .describe("The `version` you read; the update is refused if it has changed since");

export const environmentSchema = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "a variable name"),
    z
      .string()
      .max(limits.environmentValueBytes)
      .refine((value) => !value.includes("\0"), "no NUL"),
  )
  .refine(
    (all) => Object.keys(all).length <= limits.environmentVariables,
    `at most ${limits.environmentVariables} variables`,
  )
  .refine(
    (all) =>
      Object.entries(all).reduce((sum, [name, value]) => sum + name.length + value.length, 0) <=
      limits.environmentBytes,
    `at most ${limits.environmentBytes} characters together: put large values into files`,
  )
  .describe("Environment variables");

const uidSchema = z.number().int().min(0).max(65_534);
export const userSchema = z
  .object({ uid: uidSchema, gid: uidSchema })
  .describe("Numeric user inside the computer (default 0:0)");

export const commandFields = {
  argv: z
    .array(
      z
        .string()
        .refine(
          (text) => new TextEncoder().encode(text).length <= limits.argumentBytes,
          `at most ${limits.argumentBytes} bytes: put more into a file or standard input`,
        )
        .refine((text) => !text.includes("\0"), "no NUL"),
    )
    .min(1)
    .max(limits.argumentsCount)
    .optional()
    .describe("Program and arguments, no shell. Give this or `command`"),
  command: z
    .string()
    .min(1)
    .max(limits.shellLineBytes)
    .refine((text) => !text.includes("\0"), "no NUL")
    .optional()
    .describe("A shell line (bash login shell). Give this or `argv`"),
  cwd: pathSchema.default("/work").describe("Working directory"),
  environment: environmentSchema.default({}).describe("Variables added to the computer's own"),
  user: userSchema.default({ uid: 0, gid: 0 }),
};

/** Query strings carry booleans as text; JSON carries them as they are. */
export const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);

/** The fields of an update: without defaults, so that one that is not given stays as it is. */
export const changesOf = <const Fields extends Readonly<Record<string, z.ZodType>>>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([key, schema]) => [
      key,
      (schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema).optional(),
    ]),
  ) as unknown as { [K in keyof Fields]: z.ZodOptional<z.ZodType<z.output<Fields[K]>>> };
