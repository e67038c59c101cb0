import { HoldfastError } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";

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
