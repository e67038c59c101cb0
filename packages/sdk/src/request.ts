import type { Operation } from "@holdfast/contract";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For operations that create: the same key answers the first result again. One is made up when none is given. */
  readonly idempotencyKey?: string;
  /** The `version` that was read; the update is refused if it has changed since. */
  readonly ifMatch?: string;
}

export interface PreparedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly json: string | undefined;
}

/** Places the fields of an input where its route wants them: path, query, body, headers. Throws on a missing path field. */
export const prepareRequest = (
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  options: CallOptions,
): PreparedRequest => {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = operation.route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    if (typeof value !== "string" || value === "") {
      throw new TypeError(`${operation.name} needs \`${name}\`: a text that is not empty.`);
    }
    // Of these a URL makes another path: of `services/../stop` the computer's own.
    if (value === "." || value === "..")
      throw new TypeError(`${operation.name}: \`${name}\` cannot be ${JSON.stringify(value)}.`);
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const headers: Record<string, string> = {};
  const version = options.ifMatch ?? rest.get("if_match");
  rest.delete("if_match");
  if (typeof version === "string") headers["if-match"] = quoted(version);
  if (operation.idempotent && options.idempotencyKey !== undefined) {
    headers["idempotency-key"] = quoted(options.idempotencyKey);
  }
  if (takesJson(operation)) {
    headers["content-type"] = "application/json";
    return {
      method: operation.route.method,
      target: path,
      headers,
      json: JSON.stringify(Object.fromEntries(rest)),
    };
  }
  const query = new URLSearchParams(
    [...rest].map(([name, value]): [string, string] => [name, queryText(value)]),
  ).toString();
  return {
    method: operation.route.method,
    target: query === "" ? path : `${path}?${query}`,
    headers,
    json: undefined,
  };
};

const takesJson = (operation: Operation): boolean =>
  operation.body === "json" && operation.route.method !== "GET" && operation.route.method !== "DELETE";

const queryText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
