import { exitCodes, ExitWith } from "../errors.ts";

/** Runs until it ends or Ctrl-C is pressed, which aborts the signal. Throws `ExitWith` then, so that the command comes to its own end. */
export const untilInterrupted = async (run: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.on("SIGINT", interrupt);
  try {
    await run(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    process.off("SIGINT", interrupt);
  }
  if (stop.signal.aborted) throw new ExitWith(exitCodes.interrupted);
};
