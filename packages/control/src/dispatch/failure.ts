import { HoldfastError } from "@holdfast/contract";
import type { Logger, RateState } from "@holdfast/kit";

/** What the caller may know: our own errors as they are, all else as `internal` with the id under which the cause is logged. */
export const asHoldfastError = (error: unknown, logger: Logger, operationId: string): HoldfastError => {
  if (error instanceof HoldfastError) return error;
  logger.error("an operation failed unexpectedly", { error_id: operationId, error });
  return new HoldfastError(
    "internal",
    "an unexpected failure; its cause is in the log",
    { error_id: operationId },
    { cause: error },
  );
};

/** A limit that knows better says so in its details; the request rate knows when there is room again. */
export const retryAfter = (failure: HoldfastError, rate: RateState | null): number | null => {
  const asked = failure.details["retry_after_ms"];
  if (typeof asked === "number") return asked;
  if (failure.code === "rate_limited" && rate) return rate.resetMs;
  return failure.definition.status === 503 || failure.definition.status === 429 ? 1000 : null;
};
