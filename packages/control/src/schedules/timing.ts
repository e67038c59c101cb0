import { HoldfastError } from "@holdfast/contract";
import { Recent } from "@holdfast/kit";
import { Cron } from "croner";

/** When the slots of a schedule are: one of the four is given. Times are Unix milliseconds of the wall clock. */
export interface Timing {
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly atMs: number | null;
  readonly event: boolean;
  /** From when `everyMs` counts; the first slot is one step after it. */
  readonly anchorMs: number;
  /** Of `cron`. */
  readonly timeZone: string;
}

/** Lines are kept once read, each in its time zone: reading one takes as long as finding a slot. */
const keptLines = 2_000;
const secondMs = 1000;

/**
 * Slots as moments. Pure but for the lines it keeps: asked for the slots after a moment it looks at no clock.
 *
 * Where clocks change, a line whose hour and minute name times (`30 2 * * *`) runs once on each day it means: a time that is left out runs at the
 * moment of the change, one that comes twice the first time only. A line with `*` or a step in its hour or minute goes on by the time that
 * passes.
 */
export class Timings {
  readonly #lines = new Recent<string, Cron>(keptLines);

  /** The first slot later than `afterMs`; null when there is none. */
  nextAfter(timing: Timing, afterMs: number): number | null {
    if (timing.atMs !== null) return timing.atMs > afterMs ? timing.atMs : null;
    if (timing.everyMs !== null) {
      const steps = Math.floor((afterMs - timing.anchorMs) / timing.everyMs) + 1;
      return timing.anchorMs + Math.max(1, steps) * timing.everyMs;
    }
    if (timing.cron === null) return null;
    return this.#line(timing).nextRun(new Date(afterMs))?.getTime() ?? null;
  }

  /** The latest slots from `fromMs` to `toMs`, both included, `most` of them, in their order. */
  latest(timing: Timing, fromMs: number, toMs: number, most: number): readonly number[] {
    if (most <= 0 || fromMs > toMs) return [];
    return this.#backwards(timing, toMs, most)
      .filter((slotMs) => slotMs >= fromMs && slotMs <= toMs)
      .reverse();
  }

  /** The next `count` slots after a moment. */
  preview(timing: Timing, afterMs: number, count: number): readonly number[] {
    const slots: number[] = [];
    for (let at = this.nextAfter(timing, afterMs); at !== null; at = this.nextAfter(timing, at)) {
      slots.push(at);
      if (slots.length >= count) break;
    }
    return slots;
  }

  /** Throws `invalid_input` for a timing that means nothing, or that has no slot after `nowMs`. */
  check(timing: Timing, nowMs: number): void {
    const given = [timing.cron, timing.everyMs, timing.atMs, timing.event || null];
    if (given.filter((one) => one !== null).length !== 1)
      throw invalid("cron", "give exactly one of `cron`, `every_ms`, `at` and `event`");
    checkZone(timing.timeZone);
    if (timing.atMs !== null && timing.atMs <= nowMs) throw invalid("at", "it is in the past");
    if (timing.cron === null) return;
    if (timing.cron.includes("?"))
      throw invalid("cron", "`?` means another time whenever it is read; write the time");
    const { length } = timing.cron.split(" ");
    if (!timing.cron.startsWith("@") && length !== 5 && length !== 6)
      throw invalid(
        "cron",
        "five fields (minute, hour, day, month, weekday), or six with seconds before them",
      );
    try {
      this.#line(timing);
    } catch (error) {
      throw invalid("cron", reasonOf(error));
    }
    if (this.nextAfter(timing, nowMs) === null) throw invalid("cron", "it never comes");
  }

  /** Slots up to `toMs`, the latest first. */
  #backwards(timing: Timing, toMs: number, most: number): readonly number[] {
    if (timing.atMs !== null) return [timing.atMs];
    if (timing.everyMs !== null) {
      const { anchorMs, everyMs } = timing;
      const last = Math.floor((toMs - anchorMs) / everyMs);
      const count = Math.max(0, Math.min(most, last));
      return Array.from({ length: count }, (_, back) => anchorMs + (last - back) * everyMs);
    }
    if (timing.cron === null) return [];
    // Slots are whole seconds, and it looks for those before the moment it is given.
    const behind = new Date(Math.floor(toMs / secondMs) * secondMs + secondMs);
    return this.#line(timing)
      .previousRuns(most, behind)
      .map((at) => at.getTime());
  }

  #line({ cron, timeZone }: Timing): Cron {
    const key = `${timeZone} ${cron ?? ""}`;
    const known = this.#lines.get(key);
    if (known) return known;
    const line = new Cron(cron ?? "", {
      timezone: timeZone,
      mode: "5-or-6-parts",
      fixedTimeRule: "no-wildcard",
    });
    this.#lines.set(key, line);
    return line;
  }
}

/** A moment as a clock on the wall of a time zone shows it: RFC 3339 with the zone's offset. */
export const localTime = (atMs: number, timeZone: string): string => {
  const parts = new Map(
    new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    })
      .formatToParts(new Date(atMs))
      .map(({ type, value }) => [type, value]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? "";
  const offset = part("timeZoneName").replace("GMT", "");
  const date = `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
  return `${date}T${part("hour")}:${part("minute")}:${part("second")}${offset === "" ? "+00:00" : offset}`;
};

const checkZone = (timeZone: string): void => {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw invalid(
      "time_zone",
      `there is no time zone ${JSON.stringify(timeZone)}; use an IANA name such as Europe/Berlin`,
    );
  }
};

const reasonOf = (error: unknown): string =>
  `not a line of five or six fields that can be read: ${
    error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "no reason is known"
  }`;

const invalid = (field: string, message: string): HoldfastError =>
  new HoldfastError("invalid_input", `${field}: ${message}`, { issues: [{ path: [field], message }] });
