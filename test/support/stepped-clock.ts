import { type Clock, systemClock } from "@holdfast/kit";

/** A clock for what sleeps again and again: each sleep ends when the test says so, or by its signal. */
export interface SteppedClock extends Clock {
  /** Resolves when something sleeps: for how many milliseconds. One sleeper at a time. */
  asleep(): Promise<number>;
  /** Ends the sleep that is under way, or the next one. Resolves when something sleeps again: for how many milliseconds. */
  step(): Promise<number>;
}

export const steppedClock = (): SteppedClock => {
  let wake = (): void => {};
  let sleeping = Promise.withResolvers<number>();
  return {
    ...systemClock,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const refuse = (): void => {
          sleeping = Promise.withResolvers();
          reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
        };
        if (signal?.aborted) return refuse();
        signal?.addEventListener("abort", refuse, { once: true });
        wake = () => {
          signal?.removeEventListener("abort", refuse);
          resolve();
        };
        sleeping.resolve(ms);
      }),
    asleep: () => sleeping.promise,
    step: async () => {
      await sleeping.promise;
      sleeping = Promise.withResolvers();
      wake();
      return sleeping.promise;
    },
  };
};
