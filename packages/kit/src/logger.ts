/** Structured lines on stderr, one JSON object each. Fields are encoded, so no text from outside can forge a line or move a cursor. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = "debug" | "info" | "warn" | "error";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];
const longestText = 4000;

export const createLogger = (options: {
  readonly program: string;
  readonly level?: LogLevel;
  readonly now: () => number;
  readonly write?: (line: string) => void;
}): Logger => {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const threshold = levels.indexOf(options.level ?? "info");
  const build = (bound: LogFields): Logger => {
    const at =
      (level: LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        if (levels.indexOf(level) < threshold) return;
        const entry = {
          time: new Date(options.now()).toISOString(),
          level,
          program: options.program,
          message,
          ...bound,
          ...fields,
        };
        write(`${JSON.stringify(entry, encode)}\n`);
      };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (fields) => build({ ...bound, ...fields }),
    };
  };
  return build({});
};

const encode = (_key: string, value: unknown): unknown => {
  if (value instanceof Error)
    return {
      name: value.name,
      message: clip(value.message),
      stack: clip(value.stack ?? ""),
      cause: value.cause,
    };
  if (typeof value === "bigint") return value.toString();
  return typeof value === "string" ? clip(value) : value;
};

const clip = (text: string): string =>
  text.length > longestText ? `${text.slice(0, longestText)}…(${text.length})` : text;
