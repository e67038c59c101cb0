import { type Command, Option } from "commander";
import { CliError, exitCodes } from "../errors.ts";
import { formatBytes, formatDuration, parseDuration, parseInteger, parseSize, wrong } from "../lib/units.ts";
import type { Field } from "./fields.ts";
import { commandWords, type Shape } from "./words.ts";

type Values = Readonly<Record<string, unknown>>;

/** Adds a flag for each field. Parsing checks form and unit only; the server judges the values. */
export const addOptions = (command: Command, fields: readonly Field[], shape: Shape): void => {
  for (const field of fields) {
    const option = new Option(syntax(field), describe(field, shape));
    if (field.choices) option.choices([...field.choices]);
    else if (field.kind === "list" || field.kind === "record") option.argParser(collect);
    if (field.required) option.makeOptionMandatory();
    command.addOption(option);
    const off = field.kind === "boolean" ? offText(field, shape) : undefined;
    if (off !== undefined) command.addOption(new Option(`--no-${field.flag}`, off));
  }
};

/** A switch that is on unless told otherwise, or that an update may find on, needs a way to turn it off. */
const offText = (field: Field, shape: Shape): string | undefined => {
  if (field.preset === true) return `Do not: ${describe(field, shape)}`;
  return field.preset === undefined && "if_match" in shape ? `Turn --${field.flag} off` : undefined;
};

/** The input object of the flags that were given; what was not given is left to the operation's defaults. */
export const inputOf = (
  fields: readonly Field[],
  values: Values,
  given: (key: string) => boolean,
): Record<string, unknown> => {
  const input: Record<string, unknown> = {};
  for (const field of fields) {
    const key = camel(field.flag);
    if (!given(key)) continue;
    place(input, field.path, convert(field, values[key]));
  }
  return input;
};

export const camel = (flag: string): string =>
  flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const syntax = (field: Field): string => {
  const placeholder = {
    text: "text",
    integer: "number",
    duration: "time",
    size: "size",
    list: "text",
    record: "NAME=VALUE",
    json: "json",
    boolean: "",
  }[field.kind];
  if (field.kind === "boolean") return `--${field.flag}`;
  if (field.choices) return `--${field.flag} <choice>`;
  return `--${field.flag} <${placeholder}>`;
};

const describe = (field: Field, shape: Shape): string => {
  const repeated = field.kind === "list" || field.kind === "record" ? " (may be repeated)" : "";
  const preset = presetText(field);
  const words = commandWords(field.description, shape);
  // For callers of the API the description tells it; for a part of a field it tells the field's.
  const rest = preset === "" ? words : words.replace(/; default\b.*$/s, "");
  return `${rest}${repeated}${preset === "" ? "" : ` (default: ${preset})`}`.trim();
};

const presetText = (field: Field): string => {
  const { preset } = field;
  if (field.kind === "duration" && typeof preset === "number") return formatDuration(preset);
  if (field.kind === "size" && typeof preset === "number")
    return formatBytes(preset).replace(".0 ", "").replace(" ", "");
  return typeof preset === "string" || typeof preset === "number" ? String(preset) : "";
};

/** Parses an option that may be repeated into the list of what was given. */
export const collect = (text: string, before: unknown): readonly string[] => [
  ...(Array.isArray(before) ? (before as string[]) : []),
  text,
];

const convert = (field: Field, value: unknown): unknown => {
  const flag = `--${field.flag}`;
  if (field.kind === "boolean") return value;
  if (field.kind === "list") return value;
  if (field.kind === "record")
    return Object.fromEntries((value as readonly string[]).map((pair) => split(pair, flag)));
  const text = String(value);
  switch (field.kind) {
    case "integer":
      return parseInteger(text, flag);
    case "duration":
      return parseDuration(text, flag);
    case "size":
      return parseSize(text, flag);
    case "json":
      return parseJson(text, flag);
    case "text":
      return text;
  }
};

const split = (pair: string, flag: string): readonly [string, string] => {
  const at = pair.indexOf("=");
  if (at < 1) throw wrong(flag, pair, "of the form NAME=VALUE");
  return [pair.slice(0, at), pair.slice(at + 1)];
};

const parseJson = (text: string, flag: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CliError(
      `${flag} is not JSON`,
      cause,
      "Quote it for your shell with single quotes.",
      exitCodes.usage,
    );
  }
};

const place = (target: Record<string, unknown>, path: readonly string[], value: unknown): void => {
  const [head, ...rest] = path;
  if (head === undefined) return;
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  const inner = (target[head] ??= {}) as Record<string, unknown>;
  place(inner, rest, value);
};
