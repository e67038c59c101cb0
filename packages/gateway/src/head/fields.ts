/** One header line taken apart. `name` is lower case. */
export interface Field {
  readonly name: string;
  readonly value: string;
  /** As it came, without its line end. */
  readonly line: string;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export const isToken = (text: string): boolean => token.test(text);

/**
 * The header lines of a head that `HeadReader` let through, from `at` on. `malformed`: a continued line, no colon, a space before it, or a
 * name that is not a token. `too_many`: more than `limit`.
 */
export const readFields = (text: string, at: number, limit: number): Field[] | "malformed" | "too_many" => {
  const fields: Field[] = [];
  let start = at;
  while (start < text.length) {
    if (fields.length >= limit) return "too_many";
    const found = text.indexOf("\r\n", start);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(":", start);
    if (colon < 0 || colon >= end) return "malformed";
    const name = text.slice(start, colon);
    if (!token.test(name)) return "malformed";
    fields.push({
      name: name.toLowerCase(),
      value: trim(text, colon + 1, end),
      line: text.slice(start, end),
    });
    start = end + 2;
  }
  return fields;
};

/** Spaces and tabs alone: `String.trim` would also take bytes such as 0xa0, which belong to the value. */
const trim = (text: string, from: number, to: number): string => {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
};

const isBlank = (code: number): boolean => code === 32 || code === 9;

/** The parts of a comma-separated list of tokens, lower case; undefined when one is not a token. Empty parts are skipped. */
export const readTokens = (value: string): string[] | undefined => {
  const parts = value
    .split(",")
    .map((part) => trim(part, 0, part.length).toLowerCase())
    .filter((part) => part !== "");
  return parts.every(isToken) ? parts : undefined;
};

/** A body's length: digits alone, few enough to be exact. */
export const readLength = (value: string): number | undefined =>
  /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined;
