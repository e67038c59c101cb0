import type { HoldfastError } from "@holdfast/contract";
import type { RateState } from "@holdfast/kit";

export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An error as problem details (RFC 9457). `detail` says what happened, `remedy` what to do next. */
export const problemOf = (
  error: HoldfastError,
  about: {
    readonly operationId?: string | undefined;
    readonly rate?: RateState | null;
    readonly retryAfterMs?: number | null;
  } = {},
): Problem => {
  const { definition, code, message, details } = error;
  const body = {
    type: `/reference#${code}`,
    title: definition.title,
    status: definition.status,
    detail: message,
    ...(about.operationId === undefined ? {} : { instance: `urn:holdfast:operation:${about.operationId}` }),
    code,
    retryable: definition.retryable,
    remedy: definition.remedy,
    details,
  };
  return {
    status: definition.status,
    body: `${JSON.stringify(body)}\n`,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(about.rate ? rateHeaders(about.rate) : {}),
      ...(about.retryAfterMs === undefined || about.retryAfterMs === null
        ? {}
        : { "retry-after": String(Math.max(1, Math.ceil(about.retryAfterMs / 1000))) }),
      ...(definition.status === 401 ? { "www-authenticate": 'Bearer realm="holdfast"' } : {}),
    },
  };
};

/** draft-ietf-httpapi-ratelimit-headers-10: the policy, and what is left of it. */
export const rateHeaders = (rate: RateState): Record<string, string> => ({
  "ratelimit-policy": `"requests";q=${rate.limit};w=${Math.ceil(rate.windowMs / 1000)}`,
  ratelimit: `"requests";r=${rate.remaining};t=${Math.ceil(rate.resetMs / 1000)}`,
});
