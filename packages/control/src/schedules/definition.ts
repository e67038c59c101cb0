import { HoldfastError, limits, type OperationParams, operations } from "@holdfast/contract";
import type { ScheduleDefinition } from "../domain/schedules.ts";
import type { ScheduleRow } from "../store/schedules.ts";
import { commandOf } from "../work/index.ts";
import type { Timing, Timings } from "./timing.ts";

/** What a caller says of a schedule, without where it is and whether it is paused. */
export type Declared = Omit<OperationParams<"schedule.create">, "computer" | "project" | "name" | "paused">;
type Changes = OperationParams<"schedule.update">;

/** The columns that say when and what a schedule runs. */
export type Defined = Pick<
  ScheduleRow,
  | "cron"
  | "every_ms"
  | "at_ms"
  | "event"
  | "anchor_ms"
  | "time_zone"
  | "command"
  | "timeout_ms"
  | "missed"
  | "missed_most"
  | "overlap"
  | "retries"
  | "retry_backoff_ms"
  | "retries_per_day"
  | "place"
>;

export const timingOf = (row: Omit<Defined, "command">): Timing => ({
  cron: row.cron,
  everyMs: row.every_ms,
  atMs: row.at_ms,
  event: row.event,
  anchorMs: row.anchor_ms,
  timeZone: row.time_zone,
});

/** Throws `invalid_input` for what no schedule can be. */
export const definedOf = (timings: Timings, declared: Declared, nowMs: number): Defined => {
  const defined = columnsOf(declared, nowMs);
  timings.check(timingOf(defined), nowMs);
  commandOf(declared);
  return defined;
};

const columnsOf = (declared: Declared, nowMs: number): Defined =>
  refuseLarge({
    cron: declared.cron?.trim().replaceAll(/\s+/g, " ") ?? null,
    every_ms: declared.every_ms ?? null,
    at_ms: declared.at === undefined ? null : Date.parse(declared.at),
    event: declared.event === true,
    anchor_ms: nowMs,
    time_zone: declared.time_zone,
    command: {
      ...(declared.command === undefined ? { argv: declared.argv } : { command: declared.command }),
      cwd: declared.cwd,
      environment: declared.environment,
      user: declared.user,
    },
    timeout_ms: declared.timeout_ms,
    missed: declared.missed,
    missed_most: declared.missed_most,
    overlap: declared.overlap,
    retries: declared.retries,
    retry_backoff_ms: declared.retry_backoff_ms,
    retries_per_day: declared.retries_per_day,
    place: declared.place,
  });

const refuseLarge = (defined: Defined): Defined => {
  if (Buffer.byteLength(JSON.stringify(defined.command)) <= limits.scheduleCommandBytes) return defined;
  throw new HoldfastError(
    "invalid_input",
    `command and environment are over ${limits.scheduleCommandBytes} bytes together`,
    {
      limit: limits.scheduleCommandBytes,
      issues: [{ path: ["command"], message: "put long commands and large values into files" }],
    },
  );
};

/** The columns that an update changes. A new timing takes the place of the old one, and counts from now. Throws as `definedOf`. */
export const changesOf = (
  timings: Timings,
  row: ScheduleRow,
  changes: Changes,
  nowMs: number,
): { readonly defined: Defined; readonly timed: boolean } => {
  const timed = [changes.cron, changes.every_ms, changes.at, changes.event].some((one) => one !== undefined);
  const before = declaredOf(row);
  const { cron: _cron, every_ms: _every, at: _at, event: _event, ...untimed } = before;
  const { command: _command, argv: _argv, ...uncommanded } = timed ? untimed : before;
  const commanded = changes.command !== undefined || changes.argv !== undefined;
  const given = Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => value !== undefined && !which.has(name)),
  );
  const declared = {
    ...(commanded ? uncommanded : timed ? untimed : before),
    ...given,
  } as Declared;
  commandOf(declared);
  const moved = timed || (changes.time_zone !== undefined && changes.time_zone !== row.time_zone);
  const defined = columnsOf(declared, timed ? nowMs : row.anchor_ms);
  // What only changes its command may be one whose only slot has passed.
  if (moved) timings.check(timingOf(defined), timed ? nowMs : Math.min(nowMs, (row.at_ms ?? nowMs) - 1));
  if (defined.event !== row.event)
    throw new HoldfastError(
      "invalid_input",
      "event: a schedule is started by events, with a key of its own, or by time; make another one",
      { issues: [{ path: ["event"], message: "cannot be changed" }] },
    );
  return { defined, timed: moved };
};

const which: ReadonlySet<string> = new Set(["schedule", "computer", "if_match"]);

/** What it would be declared with again. */
export const declaredOf = (row: Defined): Declared => ({
  ...(row.cron === null ? {} : { cron: row.cron }),
  ...(row.every_ms === null ? {} : { every_ms: row.every_ms }),
  ...(row.at_ms === null ? {} : { at: new Date(row.at_ms).toISOString() }),
  ...(row.event ? { event: true } : {}),
  time_zone: row.time_zone,
  ...(row.command.command === undefined ? {} : { command: row.command.command }),
  ...(row.command.argv === undefined ? {} : { argv: [...row.command.argv] }),
  ...mannerOf(row),
});

/** How it runs what it runs; said in the same way by who declares it and to who reads it. */
export const mannerOf = (row: Defined) => ({
  cwd: row.command.cwd,
  environment: { ...row.command.environment },
  user: row.command.user,
  timeout_ms: row.timeout_ms,
  missed: row.missed,
  missed_most: row.missed_most,
  overlap: row.overlap,
  retries: row.retries,
  retry_backoff_ms: row.retry_backoff_ms,
  retries_per_day: row.retries_per_day,
  place: row.place,
});

/**
 * The columns of what a snapshot or a file carried: a stranger's word, so it is read as a request is. A time that has passed is no fault of a
 * schedule that was good once. Throws `invalid_input`.
 */
export const definedAgain = (
  timings: Timings,
  { name, definition }: ScheduleDefinition,
  nowMs: number,
): { readonly defined: Defined; readonly paused: boolean } => {
  const parsed = operations["schedule.create"].input.safeParse({ ...definition, name, computer: "any" });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new HoldfastError(
      "invalid_input",
      `schedule ${name.slice(0, limits.nameLength)}: ${issue?.message ?? "it does not fit"}`,
      { issues: [{ path: ["schedules"], message: issue?.message ?? "it does not fit" }] },
    );
  }
  const defined = columnsOf(parsed.data, nowMs);
  timings.check(timingOf(defined), Math.min(nowMs, (defined.at_ms ?? nowMs) - 1));
  commandOf(parsed.data);
  return { defined, paused: parsed.data.paused };
};
