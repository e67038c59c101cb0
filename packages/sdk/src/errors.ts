import { type ErrorCode, type ErrorDefinition, errorTable, HoldfastError } from "@holdfast/contract";

/**
 * What the server refused or failed to do. `code` is one of the contract's table; `message` says what happened, `remedy` what to do
 * next, `status` is the HTTP status. A code this client does not know yet appears as `internal` with the server's own in `serverCode`.
 */
export class HoldfastApiError extends HoldfastError {
  readonly status: number;
  readonly title: string;
  readonly remedy: string;
  readonly retryable: boolean;
  /** Seconds of `Retry-After`, when the server sent one. */
  readonly retryAfterSeconds: number | null;
  readonly serverCode: string;

  constructor(problem: Problem, retryAfterSeconds: number | null) {
    const known = isErrorCode(problem.code);
    super(known ? problem.code : "internal", problem.detail, problem.details);
    this.name = "HoldfastApiError";
    const definition: ErrorDefinition = this.definition;
    this.status = problem.status;
    this.serverCode = problem.code;
    this.title = problem.title ?? definition.title;
    this.remedy = problem.remedy ?? definition.remedy;
    this.retryable = problem.retryable ?? (known && definition.retryable);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The server did not answer, or its answer broke off: whether the operation happened is not known. */
export class HoldfastConnectionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "HoldfastConnectionError";
  }
}

interface Problem {
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly title?: string;
  readonly remedy?: string;
  readonly retryable?: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Reads `application/problem+json`; anything else that is not a success is still told as what it was. */
export const errorFromResponse = async (response: Response): Promise<HoldfastApiError> => {
  const text = await response.text().catch(() => "");
  const body = parseObject(text);
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new HoldfastApiError(
    {
      code: textOf(body["code"]) ?? codeOfStatus(response.status),
      status: response.status,
      detail:
        textOf(body["detail"]) ?? `The server answered ${response.status} ${response.statusText}`.trim(),
      details: isRecord(body["details"]) ? body["details"] : {},
      ...optional("title", textOf(body["title"])),
      ...optional("remedy", textOf(body["remedy"])),
      ...(typeof body["retryable"] === "boolean" ? { retryable: body["retryable"] } : {}),
    },
    Number.isFinite(retryAfter) ? retryAfter : null,
  );
};

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code);

const codeOfStatus = (status: number): ErrorCode => {
  if (status === 401) return "unauthenticated";
  if (status === 404) return "not_found";
  if (status === 413) return "too_large";
  if (status === 429) return "rate_limited";
  if (status === 503 || status === 502) return "unavailable";
  return status < 500 ? "malformed_request" : "internal";
};

const parseObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const optional = <K extends string>(key: K, value: string | undefined): { [P in K]?: string } =>
  value === undefined ? {} : ({ [key]: value } as { [P in K]?: string });
