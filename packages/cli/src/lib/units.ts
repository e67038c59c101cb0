import { CliError, exitCodes } from "../errors.ts";

const durations: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const sizes: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
};

/** `500ms`, `30s`, `5m`, `1h30m`, `7d` in milliseconds; `0` too. Another number alone is refused: nobody remembers which unit it would be. */
export const parseDuration = (text: string, flag: string): number => {
  if (text === "0") return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text))
    throw wrong(flag, text, "a time with its unit, for example 500ms, 30s, 15m, 1h30m, 7d");
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(/([\d.]+)(ms|s|m|h|d)/g))
    ms += Number(count) * (durations[unit] ?? 0);
  return Math.round(ms);
};

/** As `parseDuration` takes it: `15m`, `24h`, `1h30m`, `1.5s`, `250ms`. Hours go up to two days. */
export const formatDuration = (ms: number): string => {
  const whole = Math.round(ms);
  if (whole < 1000) return whole === 0 ? "0s" : `${whole}ms`;
  const parts: string[] = [];
  let left = whole;
  for (const [unit, size] of [
    ["d", whole < 2 * 86_400_000 ? Number.POSITIVE_INFINITY : 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
  ] as const) {
    if (left >= size) parts.push(`${Math.floor(left / size)}${unit}`);
    left = left >= size ? left % size : left;
  }
  if (left > 0) parts.push(`${left / 1000}s`);
  return parts.join("");
};

/** `4096`, `64KiB`, `10MiB`, `1GiB` in bytes. */
export const parseSize = (text: string, flag: string): number => {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text);
  const unit = match ? sizes[match[2] ?? ""] : undefined;
  if (!match || unit === undefined) throw wrong(flag, text, "a size, for example 4096, 64KiB, 10MiB");
  return Math.round(Number(match[1]) * unit);
};

export const parseInteger = (text: string, flag: string): number => {
  if (!/^-?\d+$/.test(text)) throw wrong(flag, text, "a whole number");
  return Number(text);
};

export const formatBytes = (count: number): string => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = count < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${power === 0 ? count : (count / 1024 ** power).toFixed(1)} ${units[power] ?? ""}`;
};

/** `3 min ago`, or `in 30 days` for what is still to come; from the time now in Unix milliseconds. */
export const formatAge = (time: string, now: number): string => {
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  if (seconds === 0) return "now";
  return seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
};

const span = (seconds: number): string => {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
};

export const wrong = (flag: string, text: string, wanted: string): CliError =>
  new CliError(
    `${flag} is not usable`,
    `\`${text}\` is not ${wanted}.`,
    "See the same command with --help.",
    exitCodes.usage,
  );
