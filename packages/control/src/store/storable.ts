/**
 * Postgres holds neither NUL nor half of a surrogate pair. Each is kept as U+FFFD: a text from outside (a description, a command, what an agent
 * says) must not fail the statement that tells of it, which may be the outcome of something done.
 */
export const storable = (value: unknown): unknown => {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
  if (Array.isArray(value)) return value.map(storable);
  return isPlain(value) ? storableJson(value) : value;
};

/** As `storable`, for a `jsonb`. */
export const storableJson = (value: unknown): string => {
  const json = JSON.stringify(value);
  // Whole pairs are written as they are, so an escape is of a half. An even number of backslashes before it is text.
  return json.includes("\\u")
    ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:d[89a-f][0-9a-f]{2}|0000)/g, "$1\ufffd")
    : json;
};

const isPlain = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
