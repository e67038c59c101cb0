import process from "node:process";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * What is to be taken off the host also when the process is told to end before its tests are over: `work` runs once, beside the work of
 * others who registered, and the process ends after the last of them. Answers how to take it back once it is done in the ordinary way.
 * A second signal changes nothing; `kill -9` leaves everything.
 */
export const onInterruption = (work: () => Promise<unknown>): (() => void) => {
  const forget = (): void => {
    for (const signal of signals) process.off(signal, end);
  };
  let ending = false;
  const end = (): void => {
    if (ending) return;
    ending = true;
    void work()
      .catch((error: unknown) => process.stderr.write(`not taken down: ${String(error)}\n`))
      .finally(() => {
        forget();
        // The listeners are the list of who is still at it.
        if (signals.every((signal) => process.listenerCount(signal) === 0)) process.exit(1);
      });
  };
  for (const signal of signals) process.on(signal, end);
  return forget;
};
