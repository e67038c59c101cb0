import { HoldfastApiError, HoldfastConnectionError } from "@holdfast/sdk";

/** How long one operation may go on being repeated. */
export const patienceMs = 60_000;

/** Sends a request until it is acknowledged. Throws what it was refused with for good, or when it takes too long. */
export const untilAcknowledged = async <T>(
  what: string,
  attempt: () => Promise<T>,
  onRepeat: () => void = () => undefined,
): Promise<T> => {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const mayRepeat =
        error instanceof HoldfastConnectionError || (error instanceof HoldfastApiError && error.retryable);
      if (!mayRepeat || performance.now() > deadline) {
        const code = error instanceof HoldfastApiError ? `${error.code} ${error.message}` : String(error);
        throw new Error(`${what}: ${code}`, { cause: error });
      }
      onRepeat();
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
};
